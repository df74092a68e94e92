// Address: the address of a server, as people write it.
//
//   http://10.0.0.5:8265    https://cluster.example.org/team-a    127.0.0.1:8265
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    kInvalidArgument says what was given, what an address looks like and what was probably meant.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/service.h"

namespace fray::http_client {

struct Address {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string prefix;  // path before that of a request, without a slash at its end

  std::string authority() const;  // "host:port", as the Host header wants it
  std::string text() const;       // "http://host:port/prefix"
};

Result<Address> parse_address(std::string_view text, const Service& service);
// The error for a text that is not an address.
Status no_address(const Service& service, std::string_view text, std::string_view why);

}  // namespace fray::http_client
