// Service: the words for a kind of server in error messages.
//
//   constexpr Service kDashboard{.what = "a Ray cluster", .example = "http://127.0.0.1:8265", ...};
//
// Threading:  constants.
// Ownership:  texts that live as long as the program.
// Failure:    none.
#pragma once

#include <string_view>

namespace fray::http_client {

struct Service {
  std::string_view what = "a server";                  // "x is no address of a server"
  std::string_view example = "http://127.0.0.1:8080";  // of an address
  std::string_view token_place = "an option";          // where a token belongs that stood in an address
  // Questions that follow an error, without the question mark.
  std::string_view is_it_up = "is it up, and can this machine reach it";
  std::string_view is_it_busy = "is it overloaded, or the address that of something else";
  std::string_view is_it_the_port = "is it the right port";
};

}  // namespace fray::http_client
