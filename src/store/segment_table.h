// SegmentTable: the node's record of segments: their writers, where their bytes are, the objects in them, and how much
// shared memory each process has been granted of the store's limit.
//
// Memory is accounted by reservation: a process reserves before it makes a segment and unreserves after dropping it. A
// process that dies leaves its announced segments behind (the node has their descriptors); their bytes are then charged
// to the node itself. A spilled segment is charged to nobody.
//
// Threading:  confined to the node's loop.
// Ownership:  owns the descriptors it is given. No I/O but closing them: spilling is done by others, who report here.
// Failure:    kStoreFull names the largest holders; kAlreadyExists, kNotFound and kInvalidArgument leave the table as
//             it was. Claims of a process that do not fit (unreserving more than it has) are cut to what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "os/fd.h"

namespace fray::store {

class SegmentTable {
 public:
  explicit SegmentTable(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // --- memory granted to processes
  Status reserve(ProcessId process, std::uint64_t bytes);
  void unreserve(ProcessId process, std::uint64_t bytes);
  // The process is gone: what it reserved without announcing it is free; its segments with objects live on, charged to
  // the node; those without are dropped and returned.
  std::vector<SegmentId> process_left(ProcessId process);

  // --- segments
  // Requires the writer to have reserved `size` bytes beyond its other announced segments.
  Status announce(SegmentId segment, os::Fd descriptor, std::uint64_t size);
  // The writer dropped it (or it died and the last object left): closes the descriptor.
  Status forget(SegmentId segment);
  bool contains(SegmentId segment) const { return segments_.contains(segment); }
  struct Opened {
    int descriptor = -1;  // still the table's; valid until the segment is forgotten or spilled
    std::uint64_t size = 0;
    bool spilled = false;
  };
  Result<Opened> open(SegmentId segment) const;

  // --- objects in them
  // kCorruption when the location does not lie within its segment.
  Status object_added(const Location& location);
  struct Removed {
    bool segment_dropped = false;  // spilled, or its writer is gone, and this was its last object: it is closed
    bool tell_writer = false;      // the writer may reuse the range: send it FreeRange
  };
  Result<Removed> object_removed(const Location& location);

  // --- spilling, one segment at a time or several at once
  // The longest unused segment that may be spilled, marked as being spilled: it is in memory, holds an object, and is
  // not a slab of a living writer (which writes other objects there). None: nothing can be spilled now.
  std::optional<SegmentId> choose_spill();
  // The writer answered that it has unmapped the segment, and gets no further message about it. Its bytes count for the
  // node until spilled(); if the copy fails, the node keeps the segment.
  void writer_let_go(SegmentId segment);
  // The bytes are in `file` and the writer (if alive) has let go of the memory. False: the last object left meanwhile;
  // the segment is dropped and so should the file be.
  bool spilled(SegmentId segment, os::Fd file);
  // Not possible now: the writer still views it, or the copy failed. It is not chosen again before retry_refused().
  void spill_refused(SegmentId segment);
  void retry_refused();
  void touch(SegmentId segment);  // a process has opened it

  std::uint64_t used() const { return used_bytes_; }
  std::uint64_t limit() const { return limit_bytes_; }
  std::uint64_t spilled_bytes() const { return spilled_bytes_; }
  std::size_t size() const { return segments_.size(); }
  // Reservations of segments that were not announced yet: each may still need a descriptor.
  std::size_t promised() const { return promised_; }
  std::uint64_t reserved(ProcessId process) const;

  // "the store is full: 4.0 GiB of 4.0 GiB used, 1.0 MiB more asked; largest: process 3 2.1 GiB in 12 objects, ..."
  std::string holders_summary(std::uint64_t asked_bytes) const;
  // How processes are called in holders_summary(); by default by their number.
  void set_names(std::function<std::string(ProcessId)> name) { name_ = std::move(name); }

 private:
  struct Segment {
    os::Fd descriptor;
    std::uint64_t size = 0;
    std::uint64_t last_use = 0;                      // key in by_use_
    std::map<std::uint64_t, std::uint64_t> objects;  // offset -> size
    bool spilled = false;                            // then it is an orphan, too
    bool spilling = false;
    bool refused = false;
    bool orphan = false;  // its writer is gone or has let go of it; the node pays
  };
  struct Process {
    std::uint64_t reserved_bytes = 0;
    std::uint64_t announced_bytes = 0;       // at most reserved_bytes
    std::unordered_set<SegmentId> segments;  // announced and not abandoned
    std::size_t promised = 0;                // reserved and not announced
    std::size_t forgotten = 0;               // announced, forgotten and not unreserved yet
  };

  void drop(SegmentId segment);
  void abandon(SegmentId segment, Segment& entry);  // its writer is gone or let go of it; the node pays for it now
  void requeue(SegmentId segment, Segment& entry, bool used);
  static bool may_spill(SegmentId segment, const Segment& entry);

  std::function<std::string(ProcessId)> name_;
  const std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t spilled_bytes_ = 0;
  std::uint64_t orphan_bytes_ = 0;
  std::size_t promised_ = 0;
  std::uint64_t clock_ = 0;
  std::unordered_map<SegmentId, Segment> segments_;
  std::unordered_map<ProcessId, Process> processes_;
  std::map<std::uint64_t, SegmentId> by_use_;  // oldest first
};

}  // namespace fray::store
