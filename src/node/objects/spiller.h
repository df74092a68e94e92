// Spiller: the thread that copies segments to disk while the node's loop goes on.
//
// Threading:  submit() and the callback belong to the loop; the copying is done by one thread, started at the first job.
// Ownership:  owns the thread and a copy of each source descriptor. Jobs in hand are finished before the end.
// Failure:    a copy that fails is reported to the callback with its Status; nothing is left on disk.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "event/loop.h"
#include "model/ids.h"
#include "os/fd.h"

namespace fray::node {

class Spiller {
 public:
  using OnDone = std::function<void(SegmentId segment, Result<os::Fd> file)>;

  Spiller(event::Loop& loop, std::string folder, OnDone on_done);
  ~Spiller();

  // Copies `size` bytes of `source`.
  Status submit(SegmentId segment, int source, std::uint64_t size);

 private:
  struct Job {
    SegmentId segment;
    os::Fd source;
    std::uint64_t size = 0;
  };
  struct Done {
    SegmentId segment;
    Result<os::Fd> file;
  };

  void run();
  void collect();

  event::Loop& loop_;
  const std::string folder_;
  OnDone on_done_;
  os::Fd wake_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Job> jobs_ FRAY_GUARDED_BY(mutex_);
  std::vector<Done> done_ FRAY_GUARDED_BY(mutex_);
  bool stopping_ FRAY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace fray::node
