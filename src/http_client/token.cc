#include "http_client/token.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

namespace fray::http_client {

namespace {

constexpr std::size_t kLongestToken = 4096;

std::string trimmed(std::string text) {
  const char* blank = " \t\r\n";
  text.erase(text.find_last_not_of(blank) + 1);
  text.erase(0, text.find_first_not_of(blank));
  return text;
}

}  // namespace

std::string token_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : trimmed(value);
}

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestToken + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return Status(StatusCode::kNotFound, fmt::format("the file {} cannot be read", path));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return trimmed(std::move(text));
}

Status check_token(const Token& token) {
  const bool fits = token.value.size() <= kLongestToken &&
                    std::all_of(token.value.begin(), token.value.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (fits) return Status::ok();
  return Status(StatusCode::kInvalidArgument,
                fmt::format("the token from {} is no token: it is longer than {} characters, or has spaces or control "
                            "characters; copy it anew from the cluster",
                            token.origin.empty() ? "the caller" : token.origin, kLongestToken));
}

}  // namespace fray::http_client
