// Controller: sends requests to Iris's controller: unary calls of the Connect protocol in binary Protocol Buffers. Each
// request has a connection of its own.
//
//   Controller controller(endpoint, 120s);
//   FRAY_ASSIGN_OR_RETURN(auto answer, controller.ask<wire::ListTasksResponse>(kListTasks, "show the tasks", question));
//
// Before the first request it asks how to log in (GetAuthInfo, which older controllers do not know), and logs in where
// the controller asks for it. When another login has revoked the token, it logs in again, once.
//
// A request that was lost is sent again, with growing pauses, until the patience is over. So a controller may be away
// for that long. Only the first request of all is not sent again when nothing listens at the address, because the
// address may be wrong.
//
// Threading:  any thread. A request blocks for the patience and Endpoint's limits.
// Ownership:  owns its endpoint. Each try opens and closes its own connection.
// Failure:    the codes of refusal() and exchange(); kVersionMismatch when the controller is too old, with the date
//             since which controllers know the request; kCorruption for an answer that cannot be decoded.
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
  std::string_view since;  // the date since which controllers know the method; empty: all of them do
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
// Controllers from before 28 April 2026 know the second one alone; later ones know both.
inline constexpr Method kFetchLogs{"/finelog.logging.LogService/FetchLogs", "28 April 2026"};
inline constexpr Method kFetchLogsBefore{"/iris.logging.LogService/FetchLogs", "4 April 2026"};

class Controller {
 public:
  Controller(Endpoint endpoint, std::chrono::milliseconds patience);

  const Endpoint& endpoint() const { return endpoint_; }
  std::chrono::milliseconds patience() const { return patience_; }

  // Sends a request that changes nothing, or that may arrive twice. `what` completes the sentence "the controller
  // refused to ...". A lost request is sent again until `limit` or the patience is over.
  template <typename Answer, typename Question>
  Result<Answer> ask(const Method& method, std::string_view what, const Question& question,
                     std::chrono::milliseconds limit = std::chrono::milliseconds::max()) const {
    FRAY_ASSIGN_OR_RETURN(const std::string bytes, ask_bytes(method, what, encode(question), limit));
    return read<Answer>(what, bytes);
  }
  // Sends a request once. When `*is_final` is false afterwards, nobody knows whether the controller has carried it out.
  template <typename Answer>
  Result<Answer> try_once(const Method& method, std::string_view what, const std::string& question,
                          bool* is_final) const {
    FRAY_ASSIGN_OR_RETURN(const std::string bytes, try_bytes(method, what, question, is_final));
    return read<Answer>(what, bytes);
  }
  // Whether a plain HTTP GET of this path would find something.
  Result<bool> has(std::string_view what, const std::string& path) const;
  // The name of the user as whom the controller knows this client; empty where the controller asks for no login.
  Result<std::string> user() const;

 private:
  // The result of logging in.
  struct Session {
    bool is_open = false;
    bool is_of_somebody = false;  // the controller asks for a login
    bool from_login = false;      // the token is one that a login has returned
    Token token;
    std::string user;  // filled in by the first call of user()
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
