// SharedMemory: the segments that this process writes, with the node's permission, and the maps of those that it reads.
//
// Threading:  any thread; publish() under Client's mutex, so that a segment is announced before any location in it.
// Ownership:  owns segments and maps; a View's pin keeps its map alive on its own, after everything else.
// Failure:    kStoreFull when the store is full (the node says who fills it), kNotFound from view() when the node has
//             to be asked for the segment's descriptor first, and what the kernel refuses.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "client/session/node_link.h"
#include "model/ids.h"
#include "store/segment_map.h"
#include "store/segment_pool.h"

namespace fray::client {

// Memory that was handed out to be filled by the user and to become an object where it lies.
struct Room {
  store::Block block;
  std::byte* data = nullptr;  // where the user's bytes begin
  std::uint64_t bytes = 0;
  store::Pin pin;
};

class SharedMemory : public store::MemoryBudget {
 public:
  // How the node is asked for memory, and told of memory. `ask` may block; all are called without any lock held.
  struct Node {
    std::function<Status(std::uint64_t bytes)> ask;
    std::function<void(std::uint64_t bytes)> give_back;
    std::function<void(SegmentId segment)> forget;
  };

  explicit SharedMemory(Node node) : node_(std::move(node)) {}

  void set_process(ProcessId process);

  Result<store::Block> allocate(std::uint64_t bytes) { return pool_->allocate(bytes); }
  // Nobody has the object any more. Without `reuse` somebody may still look at it: its memory is not written again.
  void free(const Location& location, bool reuse = true);
  // Room for `bytes` behind enough space for a header and a small pickle.
  Result<Room> make_room(std::uint64_t bytes);
  // The room's memory from data - prefix to data + bytes becomes the object. A user who goes on writing to the room
  // writes to a copy from then on.
  Result<Location> take_room(const Room& room, std::uint64_t prefix);
  static constexpr std::uint64_t kRoomPrefix = 4096;

  // Sends the segment's descriptor to the node unless it has it.
  Status publish(SegmentId segment, NodeLink& link);

  Result<store::View> view(const Location& location);
  // The same for the caller alone, who may write to it and changes nothing for others; see store::SegmentMap::take().
  Result<store::View> take(const Location& location);
  // Freed segments that are kept for reuse go back to the node.
  void give_back_warm() { pool_->trim(); }
  Status adopt(SegmentId segment, os::Fd fd, std::uint64_t size);
  // Gives up a segment that the node wants to spill. False while this process has views of it.
  bool evict(SegmentId segment);

 private:
  Status reserve(std::uint64_t bytes) override { return node_.ask(bytes); }
  void unreserve(std::uint64_t bytes) override { node_.give_back(bytes); }
  void forget(SegmentId segment) override { node_.forget(segment); }
  Location original(const Location& location, bool take);

  Node node_;
  ProcessId process_ = 0;
  std::unique_ptr<store::SegmentPool> pool_;
  store::SegmentMap map_;
  Mutex rooms_mutex_;
  std::unordered_map<SegmentId, Location> rooms_
      FRAY_GUARDED_BY(rooms_mutex_);  // of objects made in place: what the pool handed out
};

}  // namespace fray::client
