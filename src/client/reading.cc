#include "client/reading.h"

#include <algorithm>
#include <utility>

#include "wire/lease.h"
#include "wire/memory.h"
#include "wire/object.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kHeldLook = 20ms;  // between looks whether workers may print again

void watch_socket(std::vector<pollfd>& set, int fd, bool has_output) {
  set.push_back({fd, static_cast<short>(has_output ? POLLIN | POLLOUT : POLLIN), 0});
}
}  // namespace

// ---- Sockets ----

void Reading::read_all() {
  read_leases();
  if (link_.is_open()) {
    Status read = link_.socket().fill();
    wire::Incoming frame;
    while (link_.is_open()) {
      Result<bool> more = link_.socket().next(&frame);
      if (!more.is_ok()) {
        node_lost(more.status().message());
        break;
      }
      if (!more.value()) break;
      kernel_.note_progress();
      handle(frame);
    }
    if (!read.is_ok()) {
      node_lost(read.code() == StatusCode::kUnavailable ? "the node is gone" : "the node is gone: " + read.message());
    }
  }
  settle();
}

void Reading::read_workers() {
  read_leases();
  settle();
}

// Reading one may open others, which join at the end, or close some, behind which all move up.
void Reading::read_leases() {
  const std::vector<Lease*>& open = ledger_.leases();
  for (std::size_t place = 0; place < open.size();) {
    Lease* lease = open[place];
    if (!lease->dead && !lease->idle()) {
      const std::uint64_t seen = kernel_.news();
      ledger_.receive(lease);
      if (kernel_.news() != seen) kernel_.note_progress();
    }
    if (place < open.size() && open[place] == lease) ++place;
  }
}

void Reading::watch(std::vector<pollfd>& set) {
  watch_node(set);
  for (Lease* lease : ledger_.leases()) {
    if (lease->dead || (lease->actor != nullptr && lease->idle())) continue;  // the node tells of an actor's end
    watch_socket(set, lease->socket.fd(), lease->socket.has_output());
  }
}

void Reading::watch_busy(std::vector<pollfd>& set) {
  watch_node(set);
  for (Lease* lease : ledger_.leases()) {
    if (!lease->dead && !lease->idle()) watch_socket(set, lease->socket.fd(), lease->socket.has_output());
  }
}

void Reading::watch_node(std::vector<pollfd>& set) {
  if (link_.is_open()) watch_socket(set, link_.fd(), link_.has_output());
}

void Reading::watch_unsent(std::vector<pollfd>& set) {
  if (link_.is_open() && link_.has_output()) set.push_back({link_.fd(), POLLOUT, 0});
  for (const Lease* lease : ledger_.unflushed()) {
    if (!lease->dead && lease->socket.has_output()) set.push_back({lease->socket.fd(), POLLOUT, 0});
  }
}

void Reading::watch_duty(std::vector<pollfd>& set) {
  if (int fd = seat_.is_taken() ? seat_.duty()->watch_fd() : -1; fd >= 0) set.push_back({fd, POLLIN, 0});
}

// ---- Time ----

void Reading::serve(Clock::time_point now) {
  if (is_open()) {
    node_memory_.return_memory();
    tasks_.tick(now, false);
    actors_.tick(now);
    side_waits_.lend(now);
  }
  settle();
  deliver();
}

std::optional<Clock::time_point> Reading::next_due() const {
  std::optional<Clock::time_point> due = output_.next_due();
  const auto sooner = [&due](std::optional<Clock::time_point> other) {
    if (other && (!due || *other < *due)) due = other;
  };
  if (output_.is_held()) sooner(Clock::now() + kHeldLook);
  if (!is_open()) return due;
  sooner(tasks_.next_due());
  sooner(actors_.next_due());
  sooner(side_waits_.next_due());
  sooner(call_waits_.next_look());
  return due;
}

// ---- What became ready ----

void Reading::became_ready(Object* object) {
  kernel_.note_news();
  if (!object->detail || (object->detail->dependents.empty() && object->detail->listeners.empty())) return;
  retain(object);
  newly_ready_.push_back(object);
}

void Reading::settle() {
  while (!newly_ready_.empty()) {
    std::vector<Object*> ready = std::move(newly_ready_);
    newly_ready_.clear();
    for (Object* object : ready) {
      if (object->is_ready()) ledger_.argument_ready(object);
      std::vector<CompletionQueue*> listeners = std::move(object->detail->listeners);
      object->detail->listeners.clear();
      for (CompletionQueue* queue : listeners) queue->add(object);
      if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
    }
  }
  actors_.collect();
}

void Reading::object_arrived(ObjectId id, wire::Value value) {
  Object* object = objects_.find(id);
  if (object == nullptr || object->is_ready() || object->producer != nullptr) return;
  object->encoding = value.encoding;
  if (value.kind == wire::ValueKind::kSealed) {
    object->sealed = true;
    object->details().location = value.location;
  } else {
    object->bytes = std::move(value.bytes);
  }
  if (!value.nested.empty()) object->details().nested_ids = std::move(value.nested);
  object->state.store(Object::State::kReady, std::memory_order_release);
  became_ready(object);
}

void Reading::end(Status why) {
  if (!connection_.close(why)) return;
  tasks_.clear();
  actors_.clear();
  ledger_.fail_all(why.code(), why.message());
  std::string bytes(1, static_cast<char>(why.code()));
  bytes += why.message();
  for (Object* object : objects_.foreign_pending()) {
    object->encoding = wire::Encoding::kStatus;
    object->bytes = bytes;
    object->state.store(Object::State::kReady, std::memory_order_release);
    became_ready(object);
  }
  kernel_.note_progress();
  settle();
  kernel_.wake_all();
  if (seat_.is_taken()) seat_.duty()->node_gone();
}

// ---- What the node says ----

void Reading::handle(wire::Incoming& frame) {
  using wire::ControlType;
  auto broken = [this](const Status& status) FRAY_REQUIRES(client_mutex) { node_lost(status.message()); };
  SharedMemory& memory = node_memory_.memory();
  for (const os::Fd& fd : frame.fds) {
    if (!fd.is_open()) memory.give_back_warm();  // none was free for it, and segments kept for reuse have some
  }
  switch (static_cast<ControlType>(frame.header.type)) {
    case ControlType::kGrant: {
      auto message = wire::decode<wire::Grant>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      return tasks_.granted(frame.header.id, message.value(), std::move(frame.fds.front()));
    }
    case ControlType::kLease: {
      auto message = wire::decode<wire::Lease>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      return seat_.lease_arrived(frame.header.id, message.value(), std::move(frame.fds.front()));
    }
    case ControlType::kBindDevices: {
      auto message = wire::decode<wire::BindDevices>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return seat_.devices_bound(std::move(message).value());
    }
    case ControlType::kReclaim: {
      auto message = wire::decode<wire::Reclaim>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.reclaim(message->demand, message->count);
    }
    case ControlType::kWorkerLost: {
      auto message = wire::decode<wire::WorkerLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.worker_lost(frame.header.id, message.value());
    }
    case ControlType::kDemandRefused: {
      auto message = wire::decode<wire::DemandRefused>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.refused(message->demand, message->code, message->reason);
    }
    case ControlType::kCancelWanted: {
      auto message = wire::decode<wire::CancelObject>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      if (Object* object = objects_.find(message->object)) ledger_.cancel(object, message->force);
      return;
    }
    case ControlType::kObjectReady: {
      auto message = wire::decode<wire::ObjectReady>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return object_arrived(message->object, std::move(message->value));
    }
    case ControlType::kObjectLost: {
      auto message = wire::decode<wire::ObjectLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      wire::Value failure;
      failure.encoding = wire::Encoding::kStatus;
      failure.bytes = std::string(1, static_cast<char>(message->code)) + message->message;
      return object_arrived(message->object, std::move(failure));
    }
    case ControlType::kSegmentOpened: {
      auto message = wire::decode<wire::SegmentInfo>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      Status mapped(StatusCode::kObjectLost, message->error);
      if (frame.fds.size() == 1 && !frame.fds.front().is_open()) {
        mapped = Status(StatusCode::kResourceExhausted,
                        "this process has no descriptor left to read the value with; close some, or raise its limit of "
                        "open files (ulimit -n), and try again");
      } else if (frame.fds.size() == 1)
        mapped = memory.adopt(message->segment, std::move(frame.fds.front()), message->size);
      return connection_.answer_arrived(frame, std::move(mapped));
    }
    case ControlType::kFreeRange: {
      auto message = wire::decode<wire::FreeRange>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return memory.free(message->location, message->reuse);
    }
    case ControlType::kEvict: {
      auto message = wire::decode<wire::SegmentName>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      message->ok = memory.evict(message->segment);
      return link_.send(ControlType::kEvicted, 0, message.value());
    }
    case ControlType::kProbeWaits:
      read_workers();
      return call_waits_.tell_all_again(frame.header.id);
    case ControlType::kWaitRefused: {
      auto message = wire::decode<wire::Text>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return call_waits_.refused(frame.header.id, std::move(message->text));
    }
    case ControlType::kYieldMemory: {
      auto message = wire::decode<wire::YieldMemory>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      if (message->announce) objects_.share_private();
      memory.give_back_warm();
      node_memory_.return_memory();
      return link_.send(ControlType::kMemoryYielded);
    }
    case ControlType::kLog: {
      auto message = wire::decode<wire::Log>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return output_.arrived(std::move(message.value()));
    }
    case ControlType::kReserved:
    case ControlType::kStatusReply:
    case ControlType::kActorAnswer:
    case ControlType::kActorNames:
      return connection_.answer_arrived(frame);
    case ControlType::kActorConnected:
    case ControlType::kActorLost:
    case ControlType::kHostActor:
      return handle_actor(frame);
    default:
      return broken(Status(StatusCode::kCorruption, "the node sent a message of an unknown type"));
  }
}

void Reading::handle_actor(wire::Incoming& frame) {
  using wire::ControlType;
  auto broken = [this](const Status& status) FRAY_REQUIRES(client_mutex) { node_lost(status.message()); };
  switch (static_cast<ControlType>(frame.header.type)) {
    case ControlType::kActorConnected: {
      auto message = wire::decode<wire::ActorConnected>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      return actors_.connected(message.value(), std::move(frame.fds.front()));
    }
    case ControlType::kActorLost: {
      auto message = wire::decode<wire::ActorLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return actors_.lost(message.value());
    }
    case ControlType::kHostActor: {
      auto message = wire::decode<wire::HostActor>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return seat_.actor_arrived(std::move(message.value()));
    }
    default:
      return;
  }
}

}  // namespace fray::client
