// Large values: shared memory for what this process makes, views of what others made.
#include <algorithm>

#include "client/client.h"
#include "store/buffer_layout.h"
#include "store/parallel_copy.h"
#include "wire/memory.h"

namespace fray::client {

namespace {

constexpr std::uint64_t kSleepBytes = 256u << 10;  // copies from here on let other threads run meanwhile

// The hooks of the call in progress, for the pool's question to the node in the middle of it.
thread_local WaitHooks* current_hooks = nullptr;

struct HooksScope {
  explicit HooksScope(WaitHooks* hooks) : before(std::exchange(current_hooks, hooks)) {}
  ~HooksScope() { current_hooks = before; }
  WaitHooks* before;
};

}  // namespace

Status Client::ask_for_memory(std::uint64_t bytes) {
  WaitHooks none;
  door::Ticket ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    wire::Reserve message;
    message.bytes = bytes;
    // What is granted to nobody goes back.
    ticket = ask(wire::ControlType::kReserve, message, [this, bytes](door::Answer& answer) FRAY_REQUIRES(mutex_) {
      auto reserved = wire::decode<wire::Reserved>(answer.body);
      if (reserved.is_ok() && reserved->error.empty()) unreserve(bytes);
    });
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer,
                        await_answer(ticket, std::nullopt, current_hooks != nullptr ? *current_hooks : none));
  FRAY_ASSIGN_OR_RETURN(wire::Reserved reserved, wire::decode<wire::Reserved>(answer.body));
  return reserved.error.empty() ? Status::ok() : Status(StatusCode::kStoreFull, reserved.error);
}

void Client::unreserve(std::uint64_t bytes) {
  wire::Reserve message;
  message.bytes = bytes;
  link_.send(wire::ControlType::kUnreserve, 0, message);
}

SharedMemory::Node Client::memory_of_the_node() {
  return {
      [this](std::uint64_t bytes) { return ask_for_memory(bytes); },
      [this](std::uint64_t bytes) {
        wire::Reserve message;
        message.bytes = bytes;
        MutexLock lock(returns_mutex_);
        returned_memory_.emplace_back(wire::frame(wire::ControlType::kUnreserve, 0, message));
      },
      [this](SegmentId segment) {
        wire::SegmentName message;
        message.segment = segment;
        MutexLock lock(returns_mutex_);
        returned_memory_.emplace_back(wire::frame(wire::ControlType::kForgetSegment, 0, message));
      },
  };
}

// What the pool gave up goes to the node; the pool may say so with or without our mutex held, so it is queued.
void Client::return_memory() {
  MutexLock lock(returns_mutex_);
  for (const std::string& frame : returned_memory_) link_.send_frame(frame);
  returned_memory_.clear();
}

Object* Client::new_sealed(wire::Encoding encoding, const Location& location) {
  auto* object = new Object;
  object->encoding = encoding;
  object->sealed = true;
  object->own_block = true;
  object->details().location = location;
  MutexLock lock(mutex_);
  object->id = objects_.own_id(objects_.take_sequence(1));
  objects_.note_private(object);
  object->state.store(Object::State::kReady, std::memory_order_release);
  return object;
}

Result<Object*> Client::put_large(wire::Encoding encoding, std::span<const std::byte> whole,
                                  std::span<const std::span<const std::byte>> buffers, WaitHooks& hooks) {
  if (!open_) return why_closed();
  HooksScope scope(&hooks);
  std::vector<store::CopyPart> parts;
  std::vector<std::byte> header;
  std::uint64_t total = whole.size();
  if (wire::has_buffers(encoding)) {
    std::vector<std::uint64_t> sizes;
    for (std::span<const std::byte> buffer : buffers) sizes.push_back(buffer.size());
    FRAY_ASSIGN_OR_RETURN(store::BufferPlan plan, store::BufferPlan::measure(whole.size(), sizes));
    header.resize(plan.header_bytes());
    plan.write_header(header);
    parts.push_back({header, 0});
    parts.push_back({whole, plan.pickle_offset()});
    for (std::size_t i = 0; i < buffers.size(); ++i) parts.push_back({buffers[i], plan.buffer_offset(i)});
    total = plan.total_bytes();
  } else {
    parts.push_back({whole, 0});
  }
  FRAY_ASSIGN_OR_RETURN(store::Block block, memory_.allocate(total));
  bool sleep = total >= kSleepBytes;
  if (sleep) hooks.before_sleep();
  Status copied = store::copy_parts(parts, block.destination());
  if (sleep) hooks.after_sleep();
  if (!copied.is_ok()) {
    memory_.free(block.location);
    return copied;
  }
  return new_sealed(encoding, block.location);
}

// ---- Arrays that lie in the store from the start ----

Result<Room> Client::make_room(std::uint64_t bytes, WaitHooks& hooks) {
  HooksScope scope(&hooks);
  FRAY_ASSIGN_OR_RETURN(Room room, memory_.make_room(bytes));
  MutexLock lock(mutex_);
  rooms_.emplace(room.data, room);
  return room;
}

void Client::leave_room(const std::byte* data) {
  if (abandoned_) return;
  MutexLock lock(mutex_);
  auto found = rooms_.find(data);
  if (found == rooms_.end()) return;  // it became an object
  Location location = found->second.block.location;
  rooms_.erase(found);
  memory_.free(location);
}

Object* Client::put_in_place(wire::Encoding encoding, std::span<const std::byte> pickle,
                             std::span<const std::byte> buffer) {
  Location location;
  {
    MutexLock lock(mutex_);
    auto found = rooms_.find(buffer.data());
    if (found == rooms_.end() || found->second.bytes != buffer.size()) return nullptr;
    const Room& room = found->second;
    std::uint64_t size = buffer.size();
    auto plan = store::BufferPlan::measure(pickle.size(), {&size, 1});
    if (!plan.is_ok() || plan->buffer_offset(0) > SharedMemory::kRoomPrefix) return nullptr;
    std::byte* begin = room.data - plan->buffer_offset(0);
    plan->write_header({begin, plan->header_bytes()});
    std::copy(pickle.begin(), pickle.end(), begin + plan->pickle_offset());
    auto taken = memory_.take_room(room, plan->buffer_offset(0));
    if (!taken.is_ok()) return nullptr;  // it is copied, like any other
    location = taken.value();
    rooms_.erase(found);
  }
  return new_sealed(encoding, location);
}

// ---- Views ----

Result<store::View> Client::view(Object* object, WaitHooks& hooks) {
  const Location& location = object->detail->location;
  while (true) {
    auto view = memory_.view(location);
    if (view.is_ok() || view.status().code() != StatusCode::kNotFound) return view;
    Status opened = open_segment(location.segment, hooks);
    if (opened.code() == StatusCode::kResourceExhausted)
      opened = open_segment(location.segment, hooks);  // see handle()
    FRAY_RETURN_IF_ERROR(opened);
  }
}

Status Client::open_segment(SegmentId segment, WaitHooks& hooks) {
  door::Ticket ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    wire::SegmentName message;
    message.segment = segment;
    ticket = ask(wire::ControlType::kOpenSegment, message);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, await_answer(ticket, std::nullopt, hooks));
  return std::move(answer.outcome);
}

}  // namespace fray::client
