#include "client/objects/node_memory.h"

#include <optional>
#include <utility>

#include "wire/memory.h"

namespace fray::client {

namespace {
thread_local WaitHooks* current_hooks = nullptr;
}  // namespace

NodeMemory::HooksScope::HooksScope(WaitHooks* hooks) : before_(std::exchange(current_hooks, hooks)) {}
NodeMemory::HooksScope::~HooksScope() { current_hooks = before_; }

Status NodeMemory::ask(std::uint64_t bytes) {
  WaitHooks none;
  door::Ticket ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!connection_.is_open()) return connection_.closed();
    wire::Reserve message;
    message.bytes = bytes;
    // If the caller stops waiting, memory that is granted later is given back.
    ticket = connection_.ask(wire::ControlType::kReserve, message,
                             [this, bytes](door::Answer& answer) FRAY_REQUIRES(client_mutex) {
                               auto reserved = wire::decode<wire::Reserved>(answer.body);
                               if (reserved.is_ok() && reserved->error.empty()) unreserve(bytes);
                             });
  }
  FRAY_ASSIGN_OR_RETURN(
      door::Answer answer,
      connection_.await_answer(ticket, std::nullopt, current_hooks != nullptr ? *current_hooks : none));
  FRAY_ASSIGN_OR_RETURN(wire::Reserved reserved, wire::decode<wire::Reserved>(answer.body));
  return reserved.error.empty() ? Status::ok() : Status(StatusCode::kStoreFull, reserved.error);
}

void NodeMemory::unreserve(std::uint64_t bytes) {
  wire::Reserve message;
  message.bytes = bytes;
  connection_.link().send(wire::ControlType::kUnreserve, 0, message);
}

SharedMemory::Node NodeMemory::callbacks() {
  return {
      [this](std::uint64_t bytes) { return ask(bytes); },
      [this](std::uint64_t bytes) {
        wire::Reserve message;
        message.bytes = bytes;
        MutexLock lock(returns_mutex_);
        returned_.emplace_back(wire::frame(wire::ControlType::kUnreserve, 0, message));
        call_for_return();
      },
      [this](SegmentId segment) {
        wire::SegmentName message;
        message.segment = segment;
        MutexLock lock(returns_mutex_);
        returned_.emplace_back(wire::frame(wire::ControlType::kForgetSegment, 0, message));
        call_for_return();
      },
  };
}

void NodeMemory::call_for_return() {
  has_returned_ = true;
  connection_.link().call_for_flush();
}

void NodeMemory::return_memory() {
  if (!has_returned_) return;
  MutexLock lock(returns_mutex_);
  for (const std::string& frame : returned_) connection_.link().send_frame(frame);
  returned_.clear();
  has_returned_ = false;
}

}  // namespace fray::client
