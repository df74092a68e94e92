// SegmentMap: other processes' segments, mapped read-only into this one.
//
//   Result<View> view = map.view(location);
//   if (view.status().code() == StatusCode::kNotFound) { /* ask the node for the descriptor, adopt(), try again */ }
//
// A segment stays mapped while anything in it is viewed; the most recently used ones stay a little longer, up to
// `idle_limit_bytes`. After that view() answers kNotFound again and the descriptor must be asked for anew.
//
// Threading:  any thread.
// Ownership:  a View's pin keeps its mapping alive beyond the map; descriptors are closed once mapped.
// Failure:    kCorruption when a descriptor or a location is not what an honest writer sends (wrong size, missing
//             seals, out of bounds): nothing of it was touched then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "model/ids.h"
#include "os/fd.h"
#include "os/memory/memory_file.h"
#include "store/mapping.h"

namespace fray::store {

// The kind of file behind a descriptor that the node sends.
enum class Backing : std::uint8_t {
  kMemory,     // a sealed memfd
  kSpillFile,  // a regular file, opened read-only by the node
};

// Tells them apart by looking at the descriptor.
Result<Backing> backing_of(int descriptor);

// Whether the file can be read safely through a mapping: it has this size, and no process can shorten it. The node asks
// this of every segment announced to it, since readers cannot tell a spill file of the node's from a writer's own file.
Status check_segment(SegmentId segment, int descriptor, std::uint64_t size, Backing backing);

class SegmentMap {
 public:
  static constexpr std::uint64_t kIdleLimitBytes = 64ull << 20;

  explicit SegmentMap(std::uint64_t idle_limit_bytes = kIdleLimitBytes, os::MemoryFiles& files = os::memory_files());
  ~SegmentMap();
  SegmentMap(const SegmentMap&) = delete;
  SegmentMap& operator=(const SegmentMap&) = delete;

  // Maps the segment, or does nothing when it is mapped already. `size` is what the writer said it is. It stays mapped
  // until it is viewed for the first time, however large it is.
  Result<Pin> adopt(SegmentId segment, os::Fd descriptor, std::uint64_t size);
  // The same with the backing known.
  Result<Pin> adopt(SegmentId segment, os::Fd descriptor, std::uint64_t size, Backing backing);

  Result<View> view(const Location& location);
  // A view for the caller alone, who may write to it: the segment stays as it is. The first call answers kNotFound, and the
  // next adopt() of the segment is for it. One thread at a time may take a segment.
  Result<View> take(const Location& location);

  // The next view() asks the node again (its bytes moved to a file, or the writer dropped it). Views stay.
  void forget(SegmentId segment);

  std::size_t mapped_segments() const;  // viewed or idle

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fray::store
