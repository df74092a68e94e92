#include "http/guard.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace fray::http {

namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::array<std::string_view, 3> kHosts = {"127.0.0.1", "localhost", "[::1]"};

bool is_json(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type == "application/json";
}

bool has_body(const Request& request) {
  const std::string_view length = request.header("content-length");
  return !request.header("transfer-encoding").empty() || (!length.empty() && length != "0");
}

}  // namespace

bool Guard::is_own_authority(std::string_view authority) const {
  return std::any_of(kHosts.begin(), kHosts.end(), [&](std::string_view host) {
    return authority == fmt::format("{}:{}", host, port_) || (port_ == 80 && authority == host);
  });
}

std::optional<Response> Guard::refuse(const Request& request, FunctionRef<Access()> access) const {
  if (!is_own_authority(request.header("host"))) {
    return error_response(421, "wrong host",
                          fmt::format("the Host header must be 127.0.0.1:{0} or localhost:{0}", port_));
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !(origin.starts_with("http://") && is_own_authority(origin.substr(7)))) {
    return error_response(403, "foreign origin", "web pages of other sites may not ask this node");
  }
  std::string_view given = request.header("authorization");
  if (given.empty()) given = request.header("x-ray-authorization");
  const Access asked = given.empty() ? access() : Access::kToken;
  const std::string_view site = request.header("sec-fetch-site");
  const bool follows_link = asked == Access::kAnybody && request.header("sec-fetch-mode") == "navigate";
  if (!site.empty() && site != "same-origin" && site != "none" && !follows_link) {
    return error_response(403, "foreign origin", "web pages of other sites may not ask this node");
  }
  if (given.empty()) {
    if (auto refusal = refuse_stranger(request, asked)) return refusal;
  } else if (!given.starts_with(kScheme) || !equal_in_constant_time(given.substr(kScheme.size()), token_)) {
    return error_response(403, "wrong token", "the token is not this node's; every start of a node draws a new one");
  }
  if (request.is_upload()) return std::nullopt;  // a form of another site cannot send PUT
  if (has_body(request) && !is_json(request.header("content-type"))) {
    return error_response(415, "no JSON", "bodies must be application/json");
  }
  return std::nullopt;
}

bool Guard::shows_who_asks(const Request& request) const {
  return !request.header("authorization").empty() || !request.header("x-ray-authorization").empty() ||
         sessions_.visit(request.header("cookie")).session != nullptr;
}

// Decides about a request without a token.
std::optional<Response> Guard::refuse_stranger(const Request& request, Access access) const {
  if (access == Access::kAnybody) return std::nullopt;
  const Sessions::Visit visit = sessions_.visit(request.header("cookie"));
  if (visit.has_cookie && !visit.session) {
    return error_response(401, "login over",
                          "the login is of a node that has ended; run `fray dashboard` for a new link");
  }
  if (!visit.session) {
    Response refused = error_response(401, "no token",
                                      "send Authorization: Bearer TOKEN; `fray start --json` says which file has it "
                                      "(token_file); for a browser, `fray dashboard` makes a link");
    refused.headers["WWW-Authenticate"] = "Bearer";
    return refused;
  }
  if (access == Access::kToken) {
    return error_response(403, "needs the token", "who has logged in may look, and stop jobs; this needs the token");
  }
  if (request.method != "GET" && request.header("origin").empty()) {
    return error_response(403, "foreign origin", "a request that changes something needs an Origin header");
  }
  return std::nullopt;
}

}  // namespace fray::http
