#include "ray/endpoint.h"

#include <cstdlib>

#include <fmt/format.h>

namespace fray::ray {

Result<Address> parse_address(std::string_view text) {
  if (text == "auto" || text == "local") {
    return http_client::no_address(kDashboard, text, "finding a cluster by itself is what Ray's own library does");
  }
  if (text.starts_with("ray://")) {
    return http_client::no_address(
        kDashboard, text, "ray:// is the protocol of Ray Client, jobs go to the dashboard's port (8265 by default)");
  }
  return http_client::parse_address(text, kDashboard);
}

Result<Token> token_of_environment() {
  using http_client::token_variable;
  if (std::string value = token_variable("RAY_AUTH_TOKEN"); !value.empty()) return Token{value, "RAY_AUTH_TOKEN"};
  if (std::string path = token_variable("RAY_AUTH_TOKEN_PATH"); !path.empty()) {
    auto value = http_client::read_token_file(path);
    if (value.is_ok() && !value->empty()) return Token{*value, "the file " + path + " (RAY_AUTH_TOKEN_PATH)"};
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("RAY_AUTH_TOKEN_PATH names {}, which {}; name a file with the token of the cluster, or "
                              "unset the variable",
                              path, value.is_ok() ? "is empty" : "cannot be read"));
  }
  return Token{};
}

Result<Token> find_token() {
  FRAY_ASSIGN_OR_RETURN(Token told, token_of_environment());
  if (!told.value.empty()) return told;
  const char* home = std::getenv("HOME");
  const std::string path = std::string(home == nullptr ? "" : home) + "/.ray/auth_token";
  auto value = http_client::read_token_file(path);
  return Token{value.is_ok() ? *value : "", path};
}

}  // namespace fray::ray
