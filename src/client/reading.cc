#include "client/reading.h"

#include <algorithm>
#include <utility>

#include "client/tasks/run_sums.h"
#include "wire/actor.h"
#include "wire/lease.h"
#include "wire/memory.h"
#include "wire/object.h"
#include "wire/process.h"
#include "wire/session.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kHeldLook = 20ms;     // between looks whether workers may print again
constexpr auto kStillLooking = 10s;  // after a question: the node asks a driver each second while somebody looks

void watch_socket(std::vector<pollfd>& set, int fd, bool has_output) {
  set.push_back({fd, static_cast<short>(has_output ? POLLIN | POLLOUT : POLLIN), 0});
}
}  // namespace

// ---- Sockets ----

void Reading::read_all() {
  const auto read = [this](Lease* lease) FRAY_REQUIRES(client_mutex) { read_lease(lease); };
  ledger_.sockets().read_all(read);
  if (link_.is_open()) {
    Status filled = link_.socket().fill();
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
    if (!filled.is_ok()) {
      const bool ended = filled.code() == StatusCode::kUnavailable;
      node_lost(ended ? "the node is gone" : "the node is gone: " + filled.message());
    }
  }
  settle();
}

void Reading::read_workers() {
  const auto read = [this](Lease* lease) FRAY_REQUIRES(client_mutex) { read_lease(lease); };
  ledger_.sockets().read_busy(read);
  settle();
}

void Reading::read_lease(Lease* lease) {
  const std::uint64_t seen = kernel_.news();
  ledger_.receive(lease);
  if (tasks_.take_found_begun()) kernel_.note_news();  // somebody waits for that, and no object became ready
  if (kernel_.news() != seen) kernel_.note_progress();
}

void Reading::watch(std::vector<pollfd>& set) {
  watch_node(set);
  ledger_.sockets().watch(set);
  if (ledger_.sockets().is_many()) watch_unsent_tasks(set);
}

void Reading::watch_busy(std::vector<pollfd>& set) {
  watch_node(set);
  ledger_.sockets().watch_busy(set);
  if (ledger_.sockets().is_many()) watch_unsent_tasks(set);
}

void Reading::watch_node(std::vector<pollfd>& set) {
  if (link_.is_open()) watch_socket(set, link_.fd(), link_.has_output());
}

void Reading::watch_unsent(std::vector<pollfd>& set) {
  if (link_.is_open() && link_.has_output()) set.push_back({link_.fd(), POLLOUT, 0});
  watch_unsent_tasks(set);
}

void Reading::watch_unsent_tasks(std::vector<pollfd>& set) {
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
  sooner(ledger_.held_until());
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
      for (CompletionQueue* queue : listeners) {
        queue->arrived(object);
        if (call_waits_.is_loop(queue)) kernel_.note_loop_told();
      }
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

// ---- What the node says: one function a message ----

void Reading::on(wire::Incoming& frame, wire::Grant& grant) {
  if (frame.fds.size() != 1) return node_lost("the node granted a lease without its socket");
  tasks_.granted(frame.header.id, grant, std::move(frame.fds.front()));
}

void Reading::on(wire::Incoming& frame, wire::Lease& lease) {
  if (frame.fds.size() != 1) return node_lost("the node leased this worker without the socket of its client");
  seat_.lease_arrived(frame.header.id, lease, std::move(frame.fds.front()));
}

void Reading::on(wire::Incoming&, wire::BindDevices& binding) { seat_.devices_bound(std::move(binding)); }

void Reading::on(wire::Incoming&, wire::Reclaim& wanted) { tasks_.reclaim(wanted.demand, wanted.count); }

void Reading::on(wire::Incoming& frame, wire::WorkerLost& lost) { tasks_.worker_lost(frame.header.id, lost); }

void Reading::on(wire::Incoming&, wire::DemandRefused& refused) {
  tasks_.refused(refused.demand, refused.code, refused.reason);
}

void Reading::on(wire::Incoming&, wire::CancelObject& wanted) {
  if (Object* object = objects_.find(wanted.object)) ledger_.cancel(object, wanted.force, wanted.recursive);
}

void Reading::on(wire::Incoming&, wire::ObjectReady& ready) { object_arrived(ready.object, std::move(ready.value)); }

void Reading::on(wire::Incoming&, wire::ObjectLost& lost) {
  wire::Value failure;
  failure.encoding = wire::Encoding::kStatus;
  failure.bytes = std::string(1, static_cast<char>(lost.code)) + lost.message;
  object_arrived(lost.object, std::move(failure));
}

// kSegmentOpened: the answer to a thread that wants to read a segment.
void Reading::on(wire::Incoming& frame, wire::SegmentInfo& opened) {
  Status mapped(StatusCode::kObjectLost, opened.error);
  if (frame.fds.size() == 1 && !frame.fds.front().is_open()) {
    mapped = Status(StatusCode::kResourceExhausted,
                    "this process has no descriptor left to read the value with; close some, or raise its limit of "
                    "open files (ulimit -n), and try again");
  } else if (frame.fds.size() == 1) {
    mapped = node_memory_.memory().adopt(opened.segment, std::move(frame.fds.front()), opened.size);
  }
  connection_.answer_arrived(frame, std::move(mapped));
}

void Reading::on(wire::Incoming&, wire::FreeRange& range) { node_memory_.memory().free(range.location, range.reuse); }

// kEvict: the node wants to spill the segment.
void Reading::on(wire::Incoming&, wire::SegmentName& wanted) {
  wanted.ok = node_memory_.memory().evict(wanted.segment);
  link_.send(wire::ControlType::kEvicted, 0, wanted);
}

// kWaitRefused: the wait closes a circle of waits.
void Reading::on(wire::Incoming& frame, wire::Text& why) { call_waits_.refused(frame.header.id, std::move(why.text)); }

void Reading::on(wire::Incoming&, wire::YieldMemory& wanted) {
  if (wanted.announce) objects_.share_private();
  node_memory_.memory().give_back_warm();
  node_memory_.return_memory();
  link_.send(wire::ControlType::kMemoryYielded);
}

void Reading::on(wire::Incoming&, wire::Log& log) { output_.arrived(std::move(log)); }

void Reading::on(wire::Incoming& frame, wire::ActorConnected& connected) {
  if (frame.fds.size() != 1) return node_lost("the node connected an actor without its socket");
  actors_.connected(connected, std::move(frame.fds.front()));
}

void Reading::on(wire::Incoming&, wire::ActorLost& lost) { actors_.lost(lost); }

void Reading::on(wire::Incoming&, wire::HostActor& actor) { seat_.actor_arrived(std::move(actor)); }

void Reading::on(wire::Incoming&, wire::TellRuns& question) {
  last_asked_ = Clock::now();
  tell_runs(question);
}

void Reading::tell_last_runs() {
  if (last_asked_ && Clock::now() - *last_asked_ < kStillLooking) tell_runs(next_question_);
}

void Reading::tell_runs(const wire::TellRuns& question) {
  wire::RunsTold told = runs_since(question, timeline_);
  told.unfinished = ledger_.unfinished();
  told.calls = actors_.unfinished_calls();
  next_question_ = {told.next, told.failures};
  link_.send(wire::ControlType::kRunsTold, 0, told);
  link_.flush();
}

void Reading::probed(const wire::Incoming& frame) {
  read_workers();
  call_waits_.tell_all_again(frame.header.id);
}

template <typename Message>
void Reading::take(wire::Incoming& frame) {
  auto message = wire::decode<Message>(frame.body);
  if (!message.is_ok()) return node_lost(message.status().message());
  on(frame, message.value());
}

void Reading::handle(wire::Incoming& frame) {
  for (const os::Fd& fd : frame.fds) {
    // No descriptor was free for it; those of segments that are kept for reuse can be closed.
    if (!fd.is_open()) node_memory_.memory().give_back_warm();
  }
  switch (static_cast<wire::ControlType>(frame.header.type)) {
    using enum wire::ControlType;
    case kGrant:
      return take<wire::Grant>(frame);
    case kLease:
      return take<wire::Lease>(frame);
    case kBindDevices:
      return take<wire::BindDevices>(frame);
    case kReclaim:
      return take<wire::Reclaim>(frame);
    case kWorkerLost:
      return take<wire::WorkerLost>(frame);
    case kDemandRefused:
      return take<wire::DemandRefused>(frame);
    case kCancelWanted:
      return take<wire::CancelObject>(frame);
    case kObjectReady:
      return take<wire::ObjectReady>(frame);
    case kObjectLost:
      return take<wire::ObjectLost>(frame);
    case kSegmentOpened:
      return take<wire::SegmentInfo>(frame);
    case kFreeRange:
      return take<wire::FreeRange>(frame);
    case kEvict:
      return take<wire::SegmentName>(frame);
    case kTellRuns:
      return take<wire::TellRuns>(frame);
    case kProbeWaits:
      return probed(frame);
    case kWaitRefused:
      return take<wire::Text>(frame);
    case kYieldMemory:
      return take<wire::YieldMemory>(frame);
    case kLog:
      return take<wire::Log>(frame);
    case kActorConnected:
      return take<wire::ActorConnected>(frame);
    case kActorLost:
      return take<wire::ActorLost>(frame);
    case kHostActor:
      return take<wire::HostActor>(frame);
    case kReserved:
    case kStatusReply:
    case kActorAnswer:
    case kActorNames:
      return connection_.answer_arrived(frame);
    default:
      return node_lost("the node sent a message of an unknown type");
  }
}

}  // namespace fray::client
