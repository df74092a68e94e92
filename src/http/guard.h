// Guard: decides whether a request is allowed, by its head alone, before its body is read or its path looked up.
//
//   Host            127.0.0.1, localhost or [::1], with the server's port: a name that a web page rebinds is another (421)
//   Origin          none, or this server's own; Sec-Fetch-Site none or same-origin: a page of another site
//                   is refused (403), unless it follows a link to what anybody may see
//   Authorization   "Bearer <token>", or X-Ray-Authorization with the same: none 401, another 403. Without it a cookie of
//                   somebody who has logged in will do where the route says so; it changes something only with an Origin
//   Content-Type    application/json, where there is a body: a form of another site cannot have it (415); packages are
//                   any bytes, and come by PUT, which no form can send either
//
// Threading:  a value.
// Ownership:  owns the token; refers to the sessions.
// Failure:    a refusal is a Response. Tokens are compared in a time that does not depend on where they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/function_ref.h"
#include "http/message.h"
#include "http/sessions.h"

namespace fray::http {

class Guard {
 public:
  // The sessions must outlive it.
  Guard(std::string token, std::uint16_t port, Sessions& sessions)
      : token_(std::move(token)), port_(port), sessions_(sessions) {}

  // The refusal, or nothing. `access` says whom the request's route answers; asked only for requests without a token.
  std::optional<Response> refuse(const Request& request, FunctionRef<Access()> access) const;
  // Whether a request that refuse() has let pass shows who asks, which requests for public documents need not do.
  bool shows_who_asks(const Request& request) const;

 private:
  std::optional<Response> refuse_stranger(const Request& request, Access access) const;
  bool is_own_authority(std::string_view authority) const;

  std::string token_;
  std::uint16_t port_;
  Sessions& sessions_;
};

}  // namespace fray::http
