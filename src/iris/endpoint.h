// The endpoint of an Iris cluster: the address of its controller, and the token for a controller that asks for a login.
// The token comes from
//
//   FRAY_IRIS_TOKEN, else the file that the cluster's spec names, else what ~/.iris/tokens.json has for that address
//
// Threading:  any thread; reads the environment and files.
// Ownership:  values.
// Failure:    kInvalidArgument for a text that is no address, for a file of a token that cannot be read or is empty,
//             and for a tokens.json that is no JSON. Where none of the three places has a token, it is empty. No
//             message contains it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/endpoint.h"

namespace fray::iris {

using http_client::Address;
using http_client::Endpoint;
using http_client::Token;

inline constexpr http_client::Service kController{
    .what = "an Iris controller",
    .example = "http://127.0.0.1:10000",
    .token_place = "FRAY_IRIS_TOKEN or a file that token_file names",
    .is_it_up = "is the controller up, or the tunnel to it, and can this machine reach it",
    .is_it_busy = "is the controller overloaded, or the address that of something else",
    .is_it_the_port = "is it the port of Iris's controller",
};

Result<Address> parse_address(std::string_view text);
// Of the variable alone; empty when it is not set.
Token token_of_environment();
Result<Token> find_token(const Address& address, const std::string& token_file);

}  // namespace fray::iris
