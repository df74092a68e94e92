// Spiller: copies segments to disk on a thread of its own, while the node's loop goes on.
//
// Threading:  the node's loop; the copying is the side thread's.
// Ownership:  owns the thread and a copy of each source descriptor. At its end the copy in hand is finished, and what waits
//             is dropped.
// Failure:    a copy that fails is reported to the callback with its Status; nothing is left on disk. submit() returns why
//             no copy can begin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "event/loop.h"
#include "model/ids.h"
#include "node/side_thread.h"
#include "os/fd.h"

namespace fray::node {

class Spiller {
 public:
  using OnDone = std::function<void(SegmentId segment, Result<os::Fd> file)>;

  Spiller(event::Loop& loop, std::string folder, OnDone on_done);
  ~Spiller() { thread_.drop_waiting(); }

  // Copies `size` bytes of `source`.
  Status submit(SegmentId segment, int source, std::uint64_t size);

 private:
  struct Copy;

  const std::string folder_;
  OnDone on_done_;
  SideThread thread_;
};

}  // namespace fray::node
