// The endpoint of a Ray cluster: the address of its dashboard, as people write it, and the token that the dashboard
// asks for. The token comes from the places in which Ray's own clients look for it:
//
//   RAY_AUTH_TOKEN, else the file that RAY_AUTH_TOKEN_PATH names, else ~/.ray/auth_token
//
// Threading:  any thread; reads the environment.
// Ownership:  values.
// Failure:    kInvalidArgument for a text that is no address, with the address that was probably meant, and for a file
//             that RAY_AUTH_TOKEN_PATH names and that cannot be read. Where none of the three places has a token, it is
//             empty. No message contains the token.
#pragma once

#include <string_view>

#include "base/status.h"
#include "http_client/endpoint.h"

namespace fray::ray {

using http_client::Address;
using http_client::Endpoint;
using http_client::Token;

inline constexpr http_client::Service kDashboard{
    .what = "a Ray cluster",
    .example = "http://127.0.0.1:8265",
    .token_place = "RAY_AUTH_TOKEN",
    .is_it_up =
        "is the Ray head up, with its dashboard (`ray start --head`, port 8265 by default), and can this machine "
        "reach it",
    .is_it_busy = "is the head overloaded, or the address that of something else",
    .is_it_the_port = "is it the port of Ray's dashboard (8265 by default)",
};

Result<Address> parse_address(std::string_view text);
Result<Token> find_token();
// Of the two variables alone.
Result<Token> token_of_environment();

}  // namespace fray::ray
