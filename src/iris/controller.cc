#include "iris/controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "http_client/backoff.h"
#include "iris/messages.h"

namespace fray::iris {

namespace {

constexpr std::chrono::milliseconds kFirstRest{200};
constexpr std::chrono::milliseconds kLongestRest{5'000};
constexpr std::chrono::milliseconds kLeastLimit{1'000};  // of one try
constexpr int kMostInternalErrors = 3;
constexpr unsigned kFoundPage = 200;
constexpr unsigned kNotFoundPage = 404;
constexpr unsigned kNoSuchVerb = 405;
constexpr std::string_view kProtobuf = "application/proto";

// A signed token has three parts. A static token has to be exchanged for a signed one.
bool is_signed(const std::string& token) {
  return token.starts_with("eyJ") && std::count(token.begin(), token.end(), '.') == 2;
}

}  // namespace

Controller::Controller(Endpoint endpoint, std::chrono::milliseconds patience)
    : endpoint_([&] {
        endpoint.service = kController;
        return std::move(endpoint);
      }()),
      patience_(patience) {}

// ---- One try

Status Controller::no_protobuf(std::string_view what) const {
  return Status(StatusCode::kCorruption,
                fmt::format("the answer of {} cannot be read as protobuf (asked to {}); is this "
                            "client older than the controller?",
                            endpoint_.address.text(), what));
}

Status Controller::too_old(const Method& method) const {
  return Status(StatusCode::kVersionMismatch,
                fmt::format("the Iris controller at {} is older than {} and does not know {}; update the cluster",
                            endpoint_.address.text(), method.since, method.path.substr(method.path.rfind('/') + 1)));
}

// Whether the page does not exist. Old controllers answer like that, and so does anything else that listens at that
// port.
Refusal Controller::explain(const Method& method, std::string_view what, const http_client::Answer& answer,
                            const Endpoint& asker) const {
  Refusal refused = refusal(asker, what, answer);
  if (answer.status != kNotFoundPage || !refused.code.empty() || method.since.empty()) return refused;
  bool arrived = false;
  auto health = http_client::exchange(endpoint_, {.method = "GET", .path = "/health"}, &arrived);
  const bool is_controller = health.is_ok() && health->body.find("\"ok\"") != std::string::npos;
  return is_controller ? Refusal{"unimplemented", too_old(method), false, true} : refused;
}

Refusal Controller::try_with(const Method& method, std::string_view what, const std::string& question,
                             const Token& token, std::chrono::milliseconds limit, std::string* answer) const {
  Endpoint asker = endpoint_;
  asker.token = token;
  asker.answer_limit = std::min(asker.answer_limit, std::max(limit, kLeastLimit));
  http_client::Request request{.method = "POST", .path = std::string(method.path), .body = question};
  request.type = kProtobuf;
  request.headers =
      fmt::format("Connect-Protocol-Version: 1\r\nConnect-Timeout-Ms: {}\r\n", asker.answer_limit.count());
  bool arrived = false;
  auto got = http_client::exchange(asker, request, &arrived);
  if (!got.is_ok()) {
    const StatusCode code = got.status().code();
    return {"", got.status(), code == StatusCode::kUnavailable || code == StatusCode::kTimedOut};
  }
  if (!is_success(*got)) return explain(method, what, *got, asker);
  *answer = std::move(got->body);
  return {};
}

Result<std::string> Controller::try_bytes(const Method& method, std::string_view what, const std::string& question,
                                          bool* is_final) const {
  *is_final = true;
  FRAY_ASSIGN_OR_RETURN(const Token used, token());
  std::string answer;
  const Refusal refused = try_with(method, what, question, used, patience_, &answer);
  if (refused.status.is_ok()) return answer;
  const bool is_renewed = refused.code == "unauthenticated" && renew(used);
  *is_final = !refused.is_passing && !is_renewed && refused.code != "internal" && refused.code != "unknown";
  return refused.status;
}

// ---- As long as the patience lasts

Refusal Controller::ask_patiently(const Method& method, std::string_view what, const std::string& question,
                                  const Token& token, std::chrono::milliseconds limit, std::string* answer) const {
  limit = std::min(limit, patience_);
  http_client::Backoff backoff(endpoint_, {kFirstRest, kLongestRest, limit});
  int internal_errors = 0;
  Refusal refused;
  do {
    refused = try_with(method, what, question, token, limit, answer);
    if (refused.code == "internal" && ++internal_errors < kMostInternalErrors) continue;
    if (!refused.is_passing) return refused;
  } while (backoff.rest());
  if (backoff.was_interrupted()) {
    refused.status =
        Status(StatusCode::kCancelled, "interrupted while waiting for the controller: " + refused.status.message());
  }
  return refused;
}

Result<std::string> Controller::ask_bytes(const Method& method, std::string_view what, const std::string& question,
                                          std::chrono::milliseconds limit) const {
  FRAY_ASSIGN_OR_RETURN(Token used, token());
  std::string answer;
  Refusal refused = ask_patiently(method, what, question, used, limit, &answer);
  if (refused.code == "unauthenticated" && renew(used)) {
    FRAY_ASSIGN_OR_RETURN(used, token());
    refused = ask_patiently(method, what, question, used, limit, &answer);
  }
  FRAY_RETURN_IF_ERROR(refused.status);
  return answer;
}

Result<bool> Controller::has(std::string_view what, const std::string& path) const {
  Endpoint asker = endpoint_;
  FRAY_ASSIGN_OR_RETURN(asker.token, token());
  http_client::Backoff backoff(endpoint_, {kFirstRest, kLongestRest, patience_});
  Status last;
  do {
    bool arrived = false;
    auto answer = http_client::exchange(asker, {.method = "HEAD", .path = path}, &arrived);
    last = answer.status();
    if (!answer.is_ok()) continue;
    if (answer->status == kFoundPage) return true;
    if (answer->status == kNotFoundPage || answer->status == kNoSuchVerb) return false;
    const Refusal refused = refusal(asker, what, *answer);
    if (!refused.is_passing) return refused.status;
    last = refused.status;
  } while (backoff.rest());
  return last;
}

// ---- Who asks

Status Controller::log_in(Session& session) const {
  const std::string_view what = "take the login";
  std::string body;
  const auto question = encode(wire::LoginRequest{endpoint_.token.value});
  const Refusal refused = ask_patiently(kLogin, what, question, {}, patience_, &body);
  if (refused.code == "unauthenticated" || refused.code == "permission_denied") {
    return Status(StatusCode::kPermissionDenied,
                  fmt::format("{} does not take the token from {}; get a new one and put it there",
                              endpoint_.address.text(), endpoint_.token.origin));
  }
  FRAY_RETURN_IF_ERROR(refused.status);
  FRAY_ASSIGN_OR_RETURN(const auto answer, read<wire::LoginResponse>(what, body));
  session.token = {answer.token, endpoint_.token.origin};
  session.from_login = true;
  session.user = answer.user_id;
  return Status::ok();
}

// Makes the first request of all. It does not wait for a controller that does not answer, because the address may be
// wrong.
Status Controller::open(Session& session) const {
  FRAY_RETURN_IF_ERROR(http_client::check_token(endpoint_.token));
  const std::string_view what = "say how to log in";
  std::string body;
  Refusal refused = try_with(kGetAuthInfo, what, "", {}, patience_, &body);
  if (!refused.status.is_ok()) {
    if (!refused.is_passing || !refused.has_answered) return refused.status;
    FRAY_RETURN_IF_ERROR(ask_patiently(kGetAuthInfo, what, "", {}, patience_, &body).status);
  }
  FRAY_ASSIGN_OR_RETURN(const auto answer, read<wire::GetAuthInfoResponse>(what, body));
  session.is_of_somebody = !answer.provider.empty();
  if (session.is_of_somebody) {
    session.token = endpoint_.token;
    if (!endpoint_.token.value.empty() && !is_signed(endpoint_.token.value)) FRAY_RETURN_IF_ERROR(log_in(session));
  }
  session.is_open = true;
  return Status::ok();
}

Status Controller::enter() const {
  MutexLock lock(session_mutex_);
  return session_.is_open ? Status::ok() : open(session_);
}

Result<Token> Controller::token() const {
  FRAY_RETURN_IF_ERROR(enter());
  MutexLock lock(session_mutex_);
  return session_.token;
}

Result<std::string> Controller::user() const {
  FRAY_RETURN_IF_ERROR(enter());
  {
    MutexLock lock(session_mutex_);
    if (!session_.is_of_somebody || !session_.user.empty()) return session_.user;
  }
  FRAY_ASSIGN_OR_RETURN(const auto answer,
                        ask<wire::GetCurrentUserResponse>(kGetCurrentUser, "say who it takes this for", wire::Empty{}));
  MutexLock lock(session_mutex_);
  session_.user = answer.user_id;
  return session_.user;
}

// Logs in again, because a login from elsewhere revokes this one. Whether there is another token now than the refused
// one.
bool Controller::renew(const Token& used) const {
  MutexLock lock(session_mutex_);
  if (session_.token.value != used.value) return true;
  return session_.from_login && log_in(session_).is_ok();
}

}  // namespace fray::iris
