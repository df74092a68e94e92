#include "client/large_values.h"

#include <algorithm>

#include "store/buffer_layout.h"
#include "store/parallel_copy.h"
#include "wire/memory.h"

namespace fray::client {

namespace {

constexpr std::uint64_t kSleepBytes = 256u << 10;  // copies from here on let other threads run meanwhile

}  // namespace

Object* LargeValues::new_sealed(wire::Encoding encoding, const Location& location) {
  auto* object = new Object;
  object->encoding = encoding;
  object->sealed = true;
  object->own_block = true;
  object->details().location = location;
  ClientLock lock(mutex_);
  object->id = objects_.own_id(objects_.take_sequence(1));
  objects_.note_private(object);
  object->state.store(Object::State::kReady, std::memory_order_release);
  return object;
}

Result<Object*> LargeValues::put_large(wire::Encoding encoding, std::span<const std::byte> whole,
                                       std::span<const std::span<const std::byte>> buffers, WaitHooks& hooks) {
  if (!connection_.is_open()) return connection_.why_closed();
  NodeMemory::HooksScope scope(&hooks);
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

Result<Room> LargeValues::make_room(std::uint64_t bytes, WaitHooks& hooks) {
  NodeMemory::HooksScope scope(&hooks);
  FRAY_ASSIGN_OR_RETURN(Room room, memory_.make_room(bytes));
  ClientLock lock(mutex_);
  rooms_.emplace(room.data, room);
  return room;
}

void LargeValues::leave_room(const std::byte* data) {
  if (connection_.is_abandoned()) return;
  ClientLock lock(mutex_);
  auto found = rooms_.find(data);
  if (found == rooms_.end()) return;  // the room has become an object
  Location location = found->second.block.location;
  rooms_.erase(found);
  memory_.free(location);
}

Object* LargeValues::put_in_place(wire::Encoding encoding, std::span<const std::byte> pickle,
                                  std::span<const std::byte> buffer) {
  Location location;
  {
    ClientLock lock(mutex_);
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
    if (!taken.is_ok()) return nullptr;  // the array is copied, like any other
    location = taken.value();
    rooms_.erase(found);
  }
  return new_sealed(encoding, location);
}

// ---- Views ----

Result<store::View> LargeValues::view(Object* object, WaitHooks& hooks) {
  const Location& location = object->detail->location;
  return look_at(location.segment, hooks, [&] { return memory_.view(location); });
}

Result<store::View> LargeValues::private_view(Object* object, WaitHooks& hooks) {
  const Location& location = object->detail->location;
  return look_at(location.segment, hooks, [&] { return memory_.take(location); });
}

template <typename Look>
Result<store::View> LargeValues::look_at(SegmentId segment, WaitHooks& hooks, const Look& look) {
  while (true) {
    Result<store::View> view = look();
    if (view.is_ok() || view.status().code() != StatusCode::kNotFound) return view;
    Status opened = open_segment(segment, hooks);
    if (opened.code() == StatusCode::kResourceExhausted)
      opened = open_segment(segment, hooks);  // see Reading::handle()
    FRAY_RETURN_IF_ERROR(opened);
  }
}

Status LargeValues::open_segment(SegmentId segment, WaitHooks& hooks) {
  door::Ticket ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!connection_.is_open()) return connection_.closed();
    wire::SegmentName message;
    message.segment = segment;
    ticket = connection_.ask(wire::ControlType::kOpenSegment, message);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, connection_.await_answer(ticket, std::nullopt, hooks));
  return std::move(answer.outcome);
}

}  // namespace fray::client
