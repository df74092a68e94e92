// Observer: asks a node questions over connections of its own, and waits for the answers.
//
//   Observer node(socket_path);
//   FRAY_ASSIGN_OR_RETURN(Answer answer, node.ask(ControlType::kGetJobs, names, ControlType::kJobAnswer, patience));
//
// Threading:  any thread. A question has a connection for itself while it waits; idle connections are kept for the next.
// Ownership:  owns its connections. A question that is withdrawn takes its connection along, so that the node forgets what
//             it was asked.
// Failure:    as door/greeting.h, and kUnavailable when the node goes away; kInvalidArgument for a question that is larger
//             than any message. A refusal of the node is in its answer.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_annotations.h"
#include "door/greeting.h"
#include "door/questions.h"
#include "wire/control.h"
#include "wire/socket.h"

namespace fray::door {

class Observer {
 public:
  explicit Observer(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  template <typename Message>
  Result<Answer> ask(wire::ControlType type, const Message& message, wire::ControlType wanted,
                     const Patience& patience) {
    return ask_with([&](Ticket ticket) { return wire::frame(type, ticket, message); }, wanted, patience);
  }
  // The node's JSON about itself.
  Result<std::string> status(const Patience& patience);

  const std::string& socket_path() const { return socket_path_; }

 private:
  struct Connection {
    wire::FrameSocket socket;
    Questions questions;
  };

  Result<Answer> ask_with(const std::function<std::string(Ticket)>& frame_of, wire::ControlType wanted,
                          const Patience& patience);
  Result<Connection> connection(const Patience& patience);
  Result<Connection> connect(const Patience& patience) const;
  static Result<Answer> await(Connection& connection, Ticket ticket, const Patience& patience);

  const std::string socket_path_;
  Mutex mutex_;
  std::vector<Connection> idle_ FRAY_GUARDED_BY(mutex_);
};

}  // namespace fray::door
