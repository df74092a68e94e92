// Guard: decides whether a request is allowed, by its head alone, before its body is read or its path looked up.
//
//   Host            127.0.0.1, localhost or [::1], with the server's port: a name that a web page rebinds is another (421)
//   Origin          none, or this server's own; Sec-Fetch-Site none or same-origin: other sites' pages are refused (403)
//   Authorization   "Bearer <token>", or X-Ray-Authorization with the same: none 401, another 403
//   Content-Type    application/json, where there is a body: a form of another site cannot have it (415); packages are
//                   any bytes, and come by PUT, which no form can send either
//
// Threading:  a value.
// Ownership:  owns the token.
// Failure:    a refusal is a Response. Tokens are compared in a time that does not depend on where they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/message.h"

namespace fray::http {

class Guard {
 public:
  Guard(std::string token, std::uint16_t port) : token_(std::move(token)), port_(port) {}

  // The refusal, or nothing.
  std::optional<Response> refuse(const Request& request) const;

 private:
  bool is_own_authority(std::string_view authority) const;

  std::string token_;
  std::uint16_t port_;
};

// In a time that depends on their lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace fray::http
