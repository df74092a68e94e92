#include "iris/refusal.h"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "model/json_text.h"

namespace fray::iris {

namespace {

using nlohmann::json;

constexpr std::size_t kShown = 600;
constexpr unsigned kOkStatus = 200;
constexpr std::string_view kProto = "application/proto";

// One line of an answer for a message, without characters that cannot be printed. Controllers send whole tracebacks,
// whose last line is the error.
std::string one_line(std::string_view text) {
  const char* blank = " \t\r\n";
  const std::size_t end = text.find_last_not_of(blank);
  if (end == std::string_view::npos) return "no reason";
  text = text.substr(0, end + 1);
  if (text.find("Traceback (most recent call last)") != std::string_view::npos) {
    text.remove_prefix(text.rfind('\n') + 1);
  }
  std::string shown;
  for (char c : text.substr(0, kShown)) shown += static_cast<unsigned char>(c) >= ' ' && c != 0x7F ? c : ' ';
  while (shown.ends_with('.')) shown.pop_back();
  return shown;
}

StatusCode code_of(std::string_view code) {
  if (code == "unauthenticated" || code == "permission_denied") return StatusCode::kPermissionDenied;
  if (code == "not_found") return StatusCode::kNotFound;
  if (code == "already_exists") return StatusCode::kAlreadyExists;
  if (code == "invalid_argument" || code == "failed_precondition") return StatusCode::kInvalidArgument;
  if (code == "unavailable" || code == "resource_exhausted") return StatusCode::kUnavailable;
  if (code == "deadline_exceeded") return StatusCode::kTimedOut;
  if (code == "unimplemented") return StatusCode::kVersionMismatch;
  return StatusCode::kInternal;
}

std::string_view advice_on(std::string_view code) {
  if (code == "unavailable" || code == "resource_exhausted") return "; try again in a few seconds";
  if (code == "internal" || code == "unknown") return "; the controller's log says more";
  return "";
}

std::string unauthenticated(const Endpoint& endpoint, const std::string& where) {
  const Token& token = endpoint.token;
  if (token.value.empty()) {
    return fmt::format(
        "{} asks who you are and no token was given; set FRAY_IRIS_TOKEN, name a file with "
        "token_file in the cluster's spec, or log in with Iris's own command line",
        where);
  }
  return fmt::format("{} does not take the token from {}{}; get a new one and put it there", where,
                     token.origin.empty() ? "the caller" : token.origin, expiry_note(token.value));
}

bool is_gateways(unsigned status) { return status == 429 || (status >= 502 && status <= 504); }

// The refusal for an answer that did not come from a controller, but from something at its address or on the way to it.
Status stranger(const Endpoint& endpoint, std::string_view what, const http_client::Answer& answer) {
  const std::string where = endpoint.address.text();
  if (answer.status >= 300 && answer.status < 400) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("{} sends this request elsewhere (HTTP {}); give the address that it leads to", where,
                              answer.status));
  }
  if (is_gateways(answer.status)) {
    return Status(
        answer.status == 504 ? StatusCode::kTimedOut : StatusCode::kUnavailable,
        fmt::format("something before the controller at {} answered in its place (HTTP {}): the controller is "
                    "down or starting; try again in a few seconds",
                    where, answer.status));
  }
  if (answer.status == 401 || answer.status == 403 || answer.status == 407) {
    return Status(
        StatusCode::kPermissionDenied,
        fmt::format("something before the controller at {} lets nobody pass (HTTP {}); give the address of the "
                    "controller itself, or of a tunnel to it",
                    where, answer.status));
  }
  const std::string type = answer.content_type.empty() ? "no type" : one_line(answer.content_type);
  return Status(StatusCode::kUnavailable,
                fmt::format("what answers at {} is no Iris controller: asked to {}, it sent HTTP {} with {}; {}?",
                            where, what, answer.status, type, endpoint.service.is_it_the_port));
}

}  // namespace

bool is_success(const http_client::Answer& answer) {
  return answer.status == kOkStatus && std::string_view(answer.content_type).starts_with(kProto);
}

std::string expiry_note(const std::string& token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) return "";
  const json claims = parse_json(decode_base64(token.substr(first + 1, second - first - 1)));
  if (!claims.is_object() || !claims.contains("exp") || !claims["exp"].is_number_integer()) return "";
  const auto expires = claims["exp"].get<std::int64_t>();
  if (expires > std::time(nullptr) || expires < 0 || expires > 253'402'300'799) return "";
  return fmt::format(", which expired on {:%Y-%m-%d at %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(expires)));
}

Refusal refusal(const Endpoint& endpoint, std::string_view what, const http_client::Answer& answer) {
  const json said = parse_json(answer.body);
  if (!said.is_object() || !said.contains("code") || !said["code"].is_string()) {
    return {"", stranger(endpoint, what, answer), is_gateways(answer.status), true};
  }
  const std::string where = endpoint.address.text();
  const auto code = said["code"].get<std::string>();
  if (code == "unauthenticated") {
    return {code, Status(StatusCode::kPermissionDenied, unauthenticated(endpoint, where)), false, true};
  }
  const bool has_words = said.contains("message") && said["message"].is_string();
  const std::string words = one_line(has_words ? said["message"].get<std::string>() : "");
  const Status status(code_of(code),
                      fmt::format("{} refused to {} ({}): {}{}", where, what, one_line(code), words, advice_on(code)));
  const bool is_passing = status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kTimedOut;
  return {code, status, is_passing, true};
}

}  // namespace fray::iris
