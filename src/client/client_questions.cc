// What a client asks the node and the node answers by itself, without another task.
#include <utility>

#include "client/client.h"

namespace fray::client {

using namespace std::chrono_literals;
using wire::ControlType;

namespace {
constexpr auto kStatusLimit = 5s;
}  // namespace

door::Ticket Client::ask(ControlType type) {
  const door::Ticket ticket = questions_.ask();
  link_.send(type, ticket);
  return ticket;
}

void Client::answer_arrived(const wire::Incoming& frame, Status outcome) {
  const auto type = static_cast<ControlType>(frame.header.type);
  questions_.answered(frame.header.id, {type, std::string(frame.body), std::move(outcome)});
}

Result<door::Answer> Client::await_answer(door::Ticket ticket, Deadline deadline, WaitHooks& hooks) {
  auto answered = [&]() FRAY_REQUIRES(mutex_) { return questions_.is_answered(ticket); };
  const WaitResult result = wait_for_node(answered, deadline, hooks);
  MutexLock lock(mutex_);
  // After an interrupt not even an answer that came at the same moment is taken: the caller's error is set.
  if (result != WaitResult::kInterrupted && questions_.is_answered(ticket)) return questions_.take(ticket);
  questions_.withdraw(ticket);
  if (result == WaitResult::kInterrupted) return Status(StatusCode::kCancelled, "interrupted");
  return open_ ? Status(StatusCode::kUnavailable, "the node did not answer") : closed_;
}

Result<std::string> Client::ask_for_status(Deadline deadline, WaitHooks& hooks) {
  door::Ticket ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    ticket = ask(ControlType::kStatusRequest);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, await_answer(ticket, deadline, hooks));
  FRAY_ASSIGN_OR_RETURN(wire::Text text, wire::decode<wire::Text>(answer.body));
  return std::move(text.text);
}

Result<std::string> Client::status(WaitHooks& hooks) { return ask_for_status(Clock::now() + kStatusLimit, hooks); }

}  // namespace fray::client
