// TokenFile: the token that clients of a started node's HTTP API need, in a file that only its user can read.
//
// Threading:  one thread.
// Ownership:  values; the file goes with its folder, which is the node's own.
// Failure:    create() returns kIoError when the file cannot be made or random bytes cannot be had.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::http {

class TokenFile {
 public:
  // Draws a token of 256 bits and writes it, mode 0600, over whatever lies at `path`; links are not followed.
  static Result<TokenFile> create(const std::string& path);

  const std::string& token() const { return token_; }
  const std::string& path() const { return path_; }

 private:
  TokenFile(std::string path, std::string token) : path_(std::move(path)), token_(std::move(token)) {}

  std::string path_;
  std::string token_;
};

}  // namespace fray::http
