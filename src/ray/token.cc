#include "ray/token.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace fray::ray {

namespace {

constexpr std::size_t kLongest = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string trimmed(std::string text) {
  const char* blank = " \t\r\n";
  text.erase(text.find_last_not_of(blank) + 1);
  text.erase(0, text.find_first_not_of(blank));
  return text;
}

std::optional<std::string> read_start(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kLongest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return trimmed(text);
}

}  // namespace

Result<Token> find_token() {
  if (std::string value = trimmed(variable("RAY_AUTH_TOKEN")); !value.empty()) return Token{value, "RAY_AUTH_TOKEN"};
  if (std::string path = variable("RAY_AUTH_TOKEN_PATH"); !path.empty()) {
    auto value = read_start(path);
    if (value && !value->empty()) return Token{*value, "the file " + path + " (RAY_AUTH_TOKEN_PATH)"};
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("RAY_AUTH_TOKEN_PATH names {}, which {}; name a file with the token of the cluster, or "
                              "unset the variable",
                              path, value ? "is empty" : "cannot be read"));
  }
  const std::string path = variable("HOME") + "/.ray/auth_token";
  return Token{read_start(path).value_or(""), path};
}

Status check_token(const Token& token) {
  const bool fits = token.value.size() <= kLongest &&
                    std::all_of(token.value.begin(), token.value.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (fits) return Status::ok();
  return Status(StatusCode::kInvalidArgument,
                fmt::format("the token from {} is no token: it is longer than {} characters, or has spaces or control "
                            "characters; copy it anew from the cluster",
                            token.origin.empty() ? "the caller" : token.origin, kLongest));
}

}  // namespace fray::ray
