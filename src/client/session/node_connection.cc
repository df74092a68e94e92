#include "client/session/node_connection.h"

#include <utility>

#include "client/reading.h"
#include "client/threads/plain_wait.h"
#include "door/greeting.h"
#include "model/resource_set.h"
#include "wire/welcome.h"

namespace fray::client {

using wire::ControlType;

NodeConnection::NodeConnection(ClientMutex& mutex, ReadingKernel& kernel, os::Fd control)
    : mutex_(mutex), kernel_(kernel), link_(std::move(control), [&kernel](NodeLink::Left left) FRAY_UNCHECKED_LOCKING {
        left == NodeLink::Left::kFrames ? kernel.guard() : kernel.guard_answers();
      }) {}

NodeConnection::~NodeConnection() = default;

Status NodeConnection::await_welcome(const door::Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(std::string answer, door::await_welcome(link_.socket(), patience));
  FRAY_ASSIGN_OR_RETURN(wire::Welcome welcome, wire::decode<wire::Welcome>(answer));
  session_ = std::move(welcome.session);
  total_ = std::make_unique<const ResourceSet>(std::move(welcome.total));
  open_.store(true, std::memory_order_release);
  return Status::ok();
}

Status NodeConnection::why_closed() const {
  ClientLock lock(mutex_);
  return closed_;
}

bool NodeConnection::close(Status why) {
  if (!open_.exchange(false)) return false;
  closed_ = std::move(why);
  link_.close();
  questions_.end();
  return true;
}

// Closes inherited descriptors in a child of fork(), which would keep the parent's connections open.
void NodeConnection::abandon() {
  abandoned_ = true;
  open_.store(false);
  link_.close();
}

door::Ticket NodeConnection::ask(ControlType type) {
  const door::Ticket ticket = questions_.ask();
  link_.send(type, ticket);
  return ticket;
}

void NodeConnection::answer_arrived(const wire::Incoming& frame, Status outcome) {
  const auto type = static_cast<ControlType>(frame.header.type);
  questions_.answered(frame.header.id, {type, std::string(frame.body), std::move(outcome)});
}

// The node answers without running a task, so a worker keeps its CPU during the wait.
Result<door::Answer> NodeConnection::await_answer(door::Ticket ticket, Deadline deadline, WaitHooks& hooks) {
  auto answered = [&]() FRAY_REQUIRES(client_mutex) { return questions_.is_answered(ticket); };
  PlainWait waiter(hooks);
  const WaitResult result = kernel_.wait(answered, deadline, waiter);
  ClientLock lock(mutex_);
  // After an interrupt an answer that came at the same moment is dropped, because the caller's error is set already.
  if (result != WaitResult::kInterrupted && questions_.is_answered(ticket)) return questions_.take(ticket);
  questions_.withdraw(ticket);
  if (result == WaitResult::kInterrupted) return Status(StatusCode::kCancelled, "interrupted");
  return is_open() ? Status(StatusCode::kUnavailable, "the node did not answer") : closed_;
}

Result<std::string> NodeConnection::ask_for_status(Deadline deadline, WaitHooks& hooks) {
  door::Ticket ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!is_open()) return closed();
    ticket = ask(ControlType::kStatusRequest);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, await_answer(ticket, deadline, hooks));
  FRAY_ASSIGN_OR_RETURN(wire::Text text, wire::decode<wire::Text>(answer.body));
  return std::move(text.text);
}

void NodeConnection::say(ControlType type) {
  ClientLock lock(mutex_);
  link_.send(type);
  link_.flush();
}

void NodeConnection::flush() {
  ClientLock lock(mutex_);
  link_.flush();
}

}  // namespace fray::client
