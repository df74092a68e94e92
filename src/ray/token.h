// find_token(): the token that a Ray cluster wants, from where Ray's own clients look for it.
//
//   RAY_AUTH_TOKEN, else the file that RAY_AUTH_TOKEN_PATH names, else ~/.ray/auth_token
//
// Threading:  any thread; reads the environment.
// Ownership:  values.
// Failure:    a file that RAY_AUTH_TOKEN_PATH names and that cannot be read is kInvalidArgument; without any of the three
//             the token is empty. The token itself is in no message.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::ray {

struct Token {
  std::string value;   // empty: none is sent
  std::string origin;  // where it comes from, for messages
};

Result<Token> find_token();
// What may stand in a header: no spaces, no control characters.
Status check_token(const Token& token);

}  // namespace fray::ray
