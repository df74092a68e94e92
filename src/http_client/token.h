// Token: the secret that a server asks for, and where it comes from.
//
// Threading:  values; any thread.
// Ownership:  owns its strings.
// Failure:    the errors of check_token() and read_token_file() name the place of the token, never the token itself.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::http_client {

struct Token {
  std::string value;   // empty: none is sent
  std::string origin;  // where it comes from, for messages
};

// Checks that the token can be sent in a header: no spaces, no control characters.
Status check_token(const Token& token);

// The content of a file without surrounding blanks; kNotFound when it cannot be read.
Result<std::string> read_token_file(const std::string& path);
// The same of a variable of the environment; empty when it is not set.
std::string token_variable(const char* name);

}  // namespace fray::http_client
