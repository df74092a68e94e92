// SegmentPool: the shared memory that this process writes.
//
//   Block block = pool.allocate(size).value();
//   copy_parts(parts, block.destination());
//   Publication news = pool.publish(block.location.segment).value();   // news.descriptor is open the first time only
//   ...
//   pool.free(block.location);                                         // no process views the object any more
//
// Objects of 1 MiB and more have a segment (memfd) of their own; a freed one stays warm, its pages allocated and
// mapped, until an object of half its size or more takes it. Smaller objects share 16 MiB slabs. Publishing seals a
// segment against everybody else; this process goes on writing through the mapping it has, so a segment is announced
// once and may then serve many objects in turn.
//
// Threading:  any thread. MemoryBudget is called without the lock held. publish() and the sending of what it returns
//             must be one step under the caller's own lock, or another thread's object in the same slab could be named
//             to the node before the slab is.
// Ownership:  owns mappings, and descriptors until they are published. Pins from view() outlive the pool. The budget
//             and `files` must outlive it.
// Failure:    kStoreFull (from the budget), kResourceExhausted (the machine or its limits); the pool is then
//             unchanged. Locations that were never handed out are kNotFound or kInvalidArgument and change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "os/fd.h"
#include "os/memory/memory_file.h"
#include "store/mapping.h"
#include "store/parallel_copy.h"

namespace fray::store {

// Grants new shared memory; the client implements it by asking the node. Called without any lock of the pool held.
class MemoryBudget {
 public:
  virtual ~MemoryBudget() = default;
  // Before a new segment of `bytes` is made. May block. kStoreFull when the store is full.
  virtual Status reserve(std::uint64_t bytes) = 0;
  // After a segment was dropped (or could not be made).
  virtual void unreserve(std::uint64_t bytes) = 0;
  // A published segment is dropped and will never be named again: the node may close its descriptor. unreserve()
  // follows.
  virtual void forget(SegmentId segment) = 0;
};

struct PoolOptions {
  ProcessId writer = 0;
  std::uint64_t warm_limit_bytes = 1ull << 30;  // freed segments of their own kept for reuse
  std::size_t most_descriptors = 16;            // kept of published segments, so that they can be rooms again
};

struct Block {
  Location location;
  std::byte* data = nullptr;
  bool cold = false;    // use copy_parts(); plain stores work too but are slower, see populate()
  int descriptor = -1;  // for copy_parts(); -1 when the segment is a slab or already sealed

  Destination destination() const { return {data, location.size, cold, descriptor}; }
};

struct Publication {
  os::Fd descriptor;       // open when this call published the segment: send it to the node before any location in it
  std::uint64_t size = 0;  // of the whole segment
};

class SegmentPool {
 public:
  SegmentPool(const PoolOptions& options, MemoryBudget& budget, os::MemoryFiles& files = os::memory_files());
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  // Memory for an object of `size` bytes (0 is allowed and takes 64), aligned to 64 bytes. Slab memory is never cold.
  Result<Block> allocate(std::uint64_t size);
  // Allocates a cold block's pages, so that plain stores into it can neither fault nor fail. Slow: about 3 GB/s.
  Status populate(const Block& block);

  // Memory that the user fills and may write to at any time, until it becomes an object by take_private().
  Result<Block> allocate_room(std::uint64_t size);
  // From now on the object's bytes do not change: writes to the room go to a private copy of the page.
  Status take_private(const Location& location);

  Result<Publication> publish(SegmentId segment);

  // The object's bytes in this process, without asking anybody. kNotFound after evict().
  Result<View> view(const Location& location) const;

  // No process views the object any more, this one included: its memory may be written again. An own segment that is
  // still viewed here is dropped instead of reused. Freeing twice is kInvalidArgument.
  Status free(const Location& location);
  // As free(), but the bytes must stay as they are for views that nobody counts any more (a client that left while its
  // arrays live on): the memory is never reused. A slab range is lost until its slab goes.
  Status retire(const Location& location);
  // The node has the bytes in a file now: unmap and close. kUnavailable while the object is viewed in this process;
  // kInvalidArgument for a slab. Neither unreserve() nor forget() is called: the node knows.
  Status evict(SegmentId segment);

  // Gives warm segments and empty slabs back until `bytes` are returned or none is left; returns how many were.
  std::uint64_t release_warm(std::uint64_t bytes);
  std::uint64_t trim() { return release_warm(~std::uint64_t{0}); }

  struct Usage {
    std::uint64_t segment_bytes = 0;  // all segments, as reserved
    std::uint64_t object_bytes = 0;   // handed out, as asked for
    std::uint64_t warm_bytes = 0;     // free own segments
    std::uint64_t segments = 0;
    std::uint64_t objects = 0;
  };
  Usage usage() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fray::store
