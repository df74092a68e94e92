#include "iris/endpoint.h"

#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/files/whole_file.h"

namespace fray::iris {

namespace {

using nlohmann::json;

constexpr const char* kTokenVariable = "FRAY_IRIS_TOKEN";
constexpr std::size_t kMostStoredBytes = std::size_t{1} << 20;

Result<Token> token_in(const std::string& path) {
  auto value = http_client::read_token_file(path);
  if (value.is_ok() && !value->empty()) return Token{*value, "the file " + path};
  return Status(StatusCode::kInvalidArgument,
                fmt::format("token_file names {}, which {}; name a file with a token of the Iris cluster, or leave "
                            "token_file out",
                            path, value.is_ok() ? "is empty" : "cannot be read"));
}

// The token that Iris's own command line has stored for this address: {"clusters": {NAME: {"url": ..., "token": ...}}}.
Result<Token> stored_token(const Address& address) {
  const char* home = std::getenv("HOME");
  const std::string path = std::string(home == nullptr ? "" : home) + "/.iris/tokens.json";
  auto text = os::read_file(path, kMostStoredBytes);
  if (!text.is_ok()) return Token{};
  const json document = parse_json(*text);
  if (!document.is_object()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} is no JSON object; remove it and log in again", path));
  }
  const auto clusters = document.find("clusters");
  if (clusters == document.end() || !clusters->is_object()) return Token{};
  for (const auto& [name, cluster] : clusters->items()) {
    if (!cluster.is_object() || !cluster.contains("url") || !cluster["url"].is_string()) continue;
    if (!cluster.contains("token") || !cluster["token"].is_string()) continue;
    auto url = parse_address(cluster["url"].get<std::string>());
    if (url.is_ok() && url->text() == address.text()) {
      return Token{cluster["token"].get<std::string>(), fmt::format("{} (cluster {})", path, name)};
    }
  }
  return Token{};
}

}  // namespace

Result<Address> parse_address(std::string_view text) { return http_client::parse_address(text, kController); }

Token token_of_environment() { return {http_client::token_variable(kTokenVariable), kTokenVariable}; }

Result<Token> find_token(const Address& address, const std::string& token_file) {
  if (Token told = token_of_environment(); !told.value.empty()) return told;
  if (!token_file.empty()) return token_in(token_file);
  return stored_token(address);
}

}  // namespace fray::iris
