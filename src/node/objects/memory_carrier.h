// MemoryCarrier: the node's side of shared memory: grants it to clients, keeps the segments' descriptors, and spills
// segments.
//
// A reservation that does not fit waits while segments are spilled: the longest unused one is asked back from its writer
// (Evict), copied to disk by the Spiller, and its descriptor replaced. When nothing more can be spilled the reservation is
// refused with the names of the largest holders.
//
// Threading:  the node's loop.
// Ownership:  owns the segment table (and so the descriptors) and the Spiller; the roster must outlive it.
// Failure:    a claim that contradicts the table ends the connection that made it (kCorruption). Each segment takes a
//             descriptor of the node. When descriptors run short, clients give back the segments that they keep for
//             reuse; then further segments are refused, so that workers and sockets still have descriptors. A segment
//             that arrives without its descriptor all the same is lost, and readers of its objects are told so.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>

#include "event/loop.h"
#include "node/objects/spiller.h"
#include "node/sessions/roster.h"
#include "os/limits/descriptor_room.h"
#include "store/segment_table.h"
#include "wire/memory.h"

namespace fray::node {

class MemoryCarrier {
 public:
  MemoryCarrier(event::Loop& loop, Roster& roster, std::uint64_t limit_bytes, std::string spill_folder);

  Status announce(ProcessId process, const wire::SegmentInfo& message, std::vector<os::Fd> fds);
  void open(Connection& connection, std::uint64_t ticket, SegmentId segment);
  Status forget_segment(ProcessId process, SegmentId segment);
  void reserve(ProcessId process, std::uint64_t ticket, std::uint64_t bytes);
  void unreserve(ProcessId process, std::uint64_t bytes);
  void evicted(ProcessId process, const wire::SegmentName& message);
  void yielded(ProcessId process);
  void process_left(ProcessId process);

  // An object's bytes lie there from now on, or no longer. Without reuse: a process may still read them.
  // kResourceExhausted: the segment arrived without its descriptor.
  Status object_added(const Location& location);
  void object_removed(const Location& location, bool reuse = true);
  // Gives the writer its memory back, when the bytes are those of a late attempt.
  void give_back(const Location& location, bool reuse = true);

  const store::SegmentTable& table() const { return table_; }

 private:
  struct Waiting {
    ProcessId process = 0;
    std::uint64_t ticket = 0;
    std::uint64_t bytes = 0;
    bool clients_asked = false;  // to yield memory, for this reservation
  };

  void open_later(ProcessId process, std::uint64_t ticket, SegmentId segment);
  void serve_waiting();
  Status grant(const Waiting& waiting);
  bool spill_one();
  void ask_clients(bool announce);
  void copy(SegmentId segment);
  void copied(SegmentId segment, Result<os::Fd> file);
  void refuse(SegmentId segment);
  void answer(const Waiting& waiting, std::string error);

  event::Loop& loop_;
  Roster& roster_;
  store::SegmentTable table_;
  Spiller spiller_;
  std::deque<Waiting> waiting_;
  std::unordered_map<SegmentId, ProcessId> spilling_;  // segments that are asked back or being copied; their writers
  std::set<ProcessId> asked_;                          // processes that have not answered kYieldMemory
  event::TimerId patience_ = 0;                        // until the node stops waiting for them
  std::string last_failure_;                           // of the last copy that failed
  os::DescriptorRoom descriptors_;
  std::set<SegmentId> lost_;  // segments that arrived without their descriptors
};

}  // namespace fray::node
