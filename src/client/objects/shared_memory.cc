#include "client/objects/shared_memory.h"

#include <algorithm>

#include "os/machine/machine.h"
#include "store/segment_kind.h"
#include "wire/memory.h"

namespace fray::client {

void SharedMemory::set_process(ProcessId process) {
  process_ = process;
  store::PoolOptions options;
  options.writer = process;
  pool_ = std::make_unique<store::SegmentPool>(options, *this);
}

// Objects that were made in place have a segment of their own, by whose number the original location is found.
Location SharedMemory::original(const Location& location, bool take) {
  MutexLock lock(rooms_mutex_);
  auto found = rooms_.find(location.segment);
  if (found == rooms_.end()) return location;
  Location handed_out = found->second;
  if (take) rooms_.erase(found);
  return handed_out;
}

void SharedMemory::free(const Location& location, bool reuse) {
  Location whole = original(location, true);
  // A range that the pool does not know was freed or evicted before; nothing is to be done.
  (void)(reuse ? pool_->free(whole) : pool_->retire(whole)).is_ok();
}

Result<Room> SharedMemory::make_room(std::uint64_t bytes) {
  Room room;
  std::uint64_t whole = std::max(bytes + kRoomPrefix, store::kOwnSegmentBytes);
  FRAY_ASSIGN_OR_RETURN(room.block, pool_->allocate_room(whole));
  if (os::overcommit_is_strict()) {  // without memory, writes of the user would raise SIGBUS
    if (Status populated = pool_->populate(room.block); !populated.is_ok()) {
      free(room.block.location);
      return populated;
    }
  }
  FRAY_ASSIGN_OR_RETURN(store::View view, pool_->view(room.block.location));
  room.pin = std::move(view.pin);
  room.data = room.block.data + kRoomPrefix;
  room.bytes = bytes;
  return room;
}

Result<Location> SharedMemory::take_room(const Room& room, std::uint64_t prefix) {
  Location location = room.block.location;
  FRAY_RETURN_IF_ERROR(pool_->take_private(location));
  MutexLock lock(rooms_mutex_);
  rooms_[location.segment] = location;
  location.offset += kRoomPrefix - prefix;
  location.size = prefix + room.bytes;
  return location;
}

Status SharedMemory::publish(SegmentId segment, NodeLink& link) {
  FRAY_ASSIGN_OR_RETURN(store::Publication news, pool_->publish(segment));
  if (!news.descriptor.is_open()) return Status::ok();
  wire::SegmentInfo message;
  message.segment = segment;
  message.size = news.size;
  link.send(wire::ControlType::kAnnounceSegment, message, std::move(news.descriptor));
  return Status::ok();
}

Result<store::View> SharedMemory::view(const Location& location) {
  if (location.segment.writer != process_) return map_.view(location);
  Location whole = original(location, false);
  auto own = pool_->view(whole);
  if (!own.is_ok()) return map_.view(location);  // the segment was evicted: the node has its bytes in a file
  own->bytes = own->bytes.subspan(location.offset - whole.offset, location.size);
  return own;
}

Result<store::View> SharedMemory::take(const Location& location) {
  const bool has_segment = location.size >= store::kOwnSegmentBytes;  // else others lie in its pages
  if (has_segment && location.segment.writer != process_) return map_.take(location);
  FRAY_ASSIGN_OR_RETURN(const store::View shared, view(location));
  return store::copy_of(shared.bytes);
}

Status SharedMemory::adopt(SegmentId segment, os::Fd fd, std::uint64_t size) {
  return map_.adopt(segment, std::move(fd), size).status();
}

bool SharedMemory::evict(SegmentId segment) {
  if (!pool_->evict(segment).is_ok()) return false;
  map_.forget(segment);
  return true;
}

}  // namespace fray::client
