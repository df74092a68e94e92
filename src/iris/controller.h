// Controller: asks Iris's controller questions: Connect, unary, binary protobuf, a connection a question.
//
//   Controller controller(endpoint, 120s);
//   FRAY_ASSIGN_OR_RETURN(auto answer, controller.ask<wire::ListTasksResponse>(kListTasks, "show the tasks", question));
//
// Before the first question it asks how to log in (GetAuthInfo, which older controllers do not know), and logs in where that
// is wanted. A token of a login that somebody else has revoked is drawn anew once.
//
// What was lost on the way is asked again, with growing rests, until the patience is over; so a controller may be away for
// that long. Until the first answer a controller that nobody has heard of is not waited for: its address may be wrong.
//
// Threading:  any thread; blocks for the patience and Endpoint's limits.
// Ownership:  owns its endpoint; a connection lives within a try.
// Failure:    as refusal() and exchange() say; kVersionMismatch for a controller that is too old, with the date from which on
//             controllers know the question; kCorruption for an answer that is no protobuf.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "http_client/exchange.h"
#include "iris/endpoint.h"
#include "iris/refusal.h"

namespace fray::iris {

struct Method {
  std::string_view path;
  std::string_view since;  // when controllers began to know it
};

inline constexpr Method kGetAuthInfo{"/iris.cluster.ControllerService/GetAuthInfo", "12 March 2026"};
inline constexpr Method kLogin{"/iris.cluster.ControllerService/Login", "12 March 2026"};
inline constexpr Method kGetCurrentUser{"/iris.cluster.ControllerService/GetCurrentUser", "12 March 2026"};
inline constexpr Method kLaunchJob{"/iris.cluster.ControllerService/LaunchJob", ""};
inline constexpr Method kGetJobStatus{"/iris.cluster.ControllerService/GetJobStatus", ""};
inline constexpr Method kGetJobState{"/iris.cluster.ControllerService/GetJobState", "27 March 2026"};
inline constexpr Method kTerminateJob{"/iris.cluster.ControllerService/TerminateJob", ""};
inline constexpr Method kListJobs{"/iris.cluster.ControllerService/ListJobs", ""};
inline constexpr Method kListTasks{"/iris.cluster.ControllerService/ListTasks", ""};
inline constexpr Method kGetTaskStatus{"/iris.cluster.ControllerService/GetTaskStatus", ""};
inline constexpr Method kRegisterEndpoint{"/iris.cluster.ControllerService/RegisterEndpoint", ""};
inline constexpr Method kUnregisterEndpoint{"/iris.cluster.ControllerService/UnregisterEndpoint", ""};
inline constexpr Method kListEndpoints{"/iris.cluster.ControllerService/ListEndpoints", ""};
// The second one is what controllers served before 28 April 2026, and still do.
inline constexpr Method kFetchLogs{"/finelog.logging.LogService/FetchLogs", "28 April 2026"};
inline constexpr Method kFetchLogsBefore{"/iris.logging.LogService/FetchLogs", "4 April 2026"};

class Controller {
 public:
  Controller(Endpoint endpoint, std::chrono::milliseconds patience);

  const Endpoint& endpoint() const { return endpoint_; }
  std::chrono::milliseconds patience() const { return patience_; }

  // For questions that change nothing, or may arrive twice. `what` completes "refused to". Lost ones are asked again for no
  // longer than `limit`, nor than the patience.
  template <typename Answer, typename Question>
  Result<Answer> ask(const Method& method, std::string_view what, const Question& question,
                     std::chrono::milliseconds limit = std::chrono::milliseconds::max()) const {
    FRAY_ASSIGN_OR_RETURN(const std::string bytes, ask_bytes(method, what, encode(question), limit));
    return read<Answer>(what, bytes);
  }
  // One try. What is not final may have been carried out, or not; `*is_final` is false then.
  template <typename Answer>
  Result<Answer> try_once(const Method& method, std::string_view what, const std::string& question,
                          bool* is_final) const {
    FRAY_ASSIGN_OR_RETURN(const std::string bytes, try_bytes(method, what, question, is_final));
    return read<Answer>(what, bytes);
  }
  // Whether there is something at a path that a plain GET would fetch.
  Result<bool> has(std::string_view what, const std::string& path) const;
  // Whom the controller knows this client as; nobody, where anybody may ask.
  Result<std::string> user() const;

 private:
  // What a login has given.
  struct Session {
    bool is_open = false;
    bool is_of_somebody = false;  // the controller wants to know who comes
    bool from_login = false;      // the token was exchanged for another one
    Token token;
    std::string user;  // once it was asked after
  };

  template <typename Answer>
  Result<Answer> read(std::string_view what, const std::string& bytes) const {
    Answer answer;
    if (!decode(bytes, answer)) return no_protobuf(what);
    return answer;
  }
  Status no_protobuf(std::string_view what) const;
  Result<std::string> ask_bytes(const Method& method, std::string_view what, const std::string& question,
                                std::chrono::milliseconds limit) const;
  Result<std::string> try_bytes(const Method& method, std::string_view what, const std::string& question,
                                bool* is_final) const;
  Refusal ask_patiently(const Method& method, std::string_view what, const std::string& question, const Token& token,
                        std::chrono::milliseconds limit, std::string* answer) const;
  Refusal try_with(const Method& method, std::string_view what, const std::string& question, const Token& token,
                   std::chrono::milliseconds limit, std::string* answer) const;
  Status enter() const;
  Status open(Session& session) const FRAY_REQUIRES(session_mutex_);
  Status log_in(Session& session) const FRAY_REQUIRES(session_mutex_);
  Result<Token> token() const;
  bool renew(const Token& used) const;
  Status too_old(const Method& method) const;
  Refusal explain(const Method& method, std::string_view what, const http_client::Answer& answer,
                  const Endpoint& asker) const;

  const Endpoint endpoint_;
  const std::chrono::milliseconds patience_;
  mutable Mutex session_mutex_;
  mutable Session session_ FRAY_GUARDED_BY(session_mutex_);
};

}  // namespace fray::iris
