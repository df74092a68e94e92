#include "ray/refusal.h"

#include <fmt/format.h>

namespace fray::ray {

namespace {

constexpr std::size_t kRefusalShown = 600;
constexpr std::string_view kNoAgent = "No available agent";

bool says(std::string_view body, std::string_view words) { return body.find(words) != std::string_view::npos; }

// The last line of what Ray said; in a Python traceback that line is the error. Characters that cannot be printed
// become spaces.
std::string last_line(std::string_view body) {
  const char* blank = " \t\r\n";
  const std::size_t end = body.find_last_not_of(blank);
  if (end == std::string_view::npos) return "no reason";
  body = body.substr(0, end + 1);
  if (const std::size_t line = body.rfind('\n'); line != std::string_view::npos) body.remove_prefix(line + 1);
  std::string shown;
  if (body.ends_with('.')) body.remove_suffix(1);
  for (char c : body.substr(0, kRefusalShown)) shown += static_cast<unsigned char>(c) >= ' ' && c != 0x7F ? c : ' ';
  return shown;
}

Status unauthorized(const std::string& where, const Token& token) {
  if (token.value.empty()) {
    return Status(StatusCode::kPermissionDenied,
                  fmt::format("{} asks for a token and none was given; set RAY_AUTH_TOKEN to the cluster's token, or "
                              "RAY_AUTH_TOKEN_PATH to a file with it",
                              where));
  }
  return Status(StatusCode::kPermissionDenied,
                fmt::format("{} does not take the token from {}; set RAY_AUTH_TOKEN to this cluster's token", where,
                            token.origin.empty() ? "the caller" : token.origin));
}

}  // namespace

bool is_worth_repeating(unsigned status, std::string_view body) {
  return status == 503 || (status >= 500 && says(body, kNoAgent));
}

Status refusal(const Endpoint& endpoint, std::string_view what, unsigned status, std::string_view body) {
  const std::string where = endpoint.address.text();
  const std::string line = last_line(body);
  auto refused = [&](StatusCode code, std::string_view advice) {
    return Status(code, fmt::format("{} refused to {} (HTTP {}): {}{}{}", where, what, status, line,
                                    advice.empty() ? "" : "; ", advice));
  };
  if (status == 401 || status == 403) return unauthorized(where, endpoint.token);
  if (status >= 300 && status < 400) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("{} sends this request elsewhere (HTTP {}); give the address that it leads to", where, status));
  }
  if (says(body, "already exists")) return refused(StatusCode::kAlreadyExists, "choose another submission id");
  if (says(body, "non-terminal state")) return refused(StatusCode::kInvalidArgument, "stop the job first");
  if (status == 404 || says(body, "does not exist")) {
    return refused(StatusCode::kNotFound, "the head forgets its jobs when it restarts");
  }
  if (status == 413) {
    return refused(StatusCode::kResourceExhausted,
                   "leave files out with `excludes`, or put the data on shared storage");
  }
  if (says(body, kNoAgent)) {
    return refused(StatusCode::kUnavailable, "the head is up, its job agent is not yet; try again in a few seconds");
  }
  if (status == 502 || status == 503 || status == 504) {
    return refused(StatusCode::kUnavailable, "the head is down or starting; try again in a few seconds");
  }
  if (status >= 400 && status < 500) return refused(StatusCode::kInvalidArgument, "");
  return refused(StatusCode::kInternal, "the dashboard's log on the head says more");
}

}  // namespace fray::ray
