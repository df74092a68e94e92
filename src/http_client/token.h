// Token: what a server wants to see of whoever asks.
//
// Threading:  values; any thread.
// Ownership:  owns its strings.
// Failure:    check_token() and read_token_file() say which place has something else; the token itself is in no message.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::http_client {

struct Token {
  std::string value;   // empty: none is sent
  std::string origin;  // where it comes from, for messages
};

// What may stand in a header: no spaces, no control characters.
Status check_token(const Token& token);

// What a file holds but for blanks around it; kNotFound when it cannot be read.
Result<std::string> read_token_file(const std::string& path);
// The same of a variable of the environment; empty when it is not set.
std::string token_variable(const char* name);

}  // namespace fray::http_client
