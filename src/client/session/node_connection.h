// NodeConnection: a client's connection to its node: the socket, what the node said of itself, and questions to the
// node.
//
//   const door::Ticket ticket = connection.ask(ControlType::kReserve, message, unwanted);    // under the mutex
//   FRAY_ASSIGN_OR_RETURN(door::Answer answer, connection.await_answer(ticket, deadline, hooks));
//
// Threading:  is_open(), session() and total() from any thread; other functions as they are declared.
// Ownership:  owns the socket and the answers that nobody has taken.
// Failure:    once the node is gone, or the client closed, every question ends with why_closed(): kUnavailable or
//             kClosed.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "client/session/node_link.h"
#include "client/threads/client_mutex.h"
#include "client/threads/wait_hooks.h"
#include "client/threads/wait_system.h"
#include "door/patience.h"
#include "door/questions.h"
#include "wire/session.h"

namespace fray {
class ResourceSet;
}

namespace fray::client {

class NodeConnection {
 public:
  using Deadline = std::optional<Clock::time_point>;
  using Unwanted = door::Questions::Unwanted;  // see door/questions.h

  NodeConnection(ClientMutex& mutex, ReadingKernel& kernel, os::Fd control);
  ~NodeConnection();

  // Waits for the node's answer to our hello. Called before there is another thread.
  Status await_welcome(const door::Patience& patience);
  const wire::Session& session() const { return session_; }
  const ResourceSet& total() const { return *total_; }  // of the node
  NodeLink& link() { return link_; }

  bool is_open() const { return open_.load(std::memory_order_acquire); }
  // Why the connection is closed; ok while it is open.
  const Status& closed() const FRAY_REQUIRES(client_mutex) { return closed_; }
  Status why_closed() const;
  // False: the connection was closed before.
  bool close(Status why) FRAY_REQUIRES(client_mutex);
  // In a child of fork(): touches no lock. The mutex may be locked for ever from then on.
  void abandon() FRAY_UNCHECKED_LOCKING;
  bool is_abandoned() const { return abandoned_; }

  template <typename Message>
  door::Ticket ask(wire::ControlType type, const Message& message, Unwanted unwanted = {}) FRAY_REQUIRES(client_mutex) {
    const door::Ticket ticket = questions_.ask(std::move(unwanted));
    link_.send(type, ticket, message);
    return ticket;
  }
  door::Ticket ask(wire::ControlType type) FRAY_REQUIRES(client_mutex);
  // Returns the ticket of a question that the caller sends itself.
  door::Ticket reserve_ticket(Unwanted unwanted) FRAY_REQUIRES(client_mutex) {
    return questions_.ask(std::move(unwanted));
  }
  Result<door::Answer> await_answer(door::Ticket ticket, Deadline deadline, WaitHooks& hooks);
  void answer_arrived(const wire::Incoming& frame, Status outcome = {}) FRAY_REQUIRES(client_mutex);
  // The node's JSON.
  Result<std::string> ask_for_status(Deadline deadline, WaitHooks& hooks);

  void say(wire::ControlType type);
  void flush();

 private:
  ClientMutex& mutex_;
  ReadingKernel& kernel_;
  NodeLink link_;  // guarded by the mutex; the tables have it by reference
  wire::Session session_;
  std::unique_ptr<const ResourceSet> total_;
  std::atomic<bool> open_{false};
  std::atomic<bool> abandoned_{false};
  Status closed_ FRAY_GUARDED_BY(client_mutex);
  door::Questions questions_ FRAY_GUARDED_BY(client_mutex);
};

}  // namespace fray::client
