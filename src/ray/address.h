// Address: where a Ray cluster's job API answers, as people write it.
//
//   http://10.0.0.5:8265    https://ray.example.org/team-a    127.0.0.1:8265
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    kInvalidArgument says what was given, what an address looks like and what was probably meant.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::ray {

struct Address {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string prefix;  // path before /api, without a slash at its end

  std::string authority() const;  // "host:port", as the Host header wants it
  std::string text() const;       // "http://host:port/prefix"
};

Result<Address> parse_address(std::string_view text);

}  // namespace fray::ray
