// SideThread: does work that would keep the node's loop waiting, one piece after the other, on a thread of its own, and
// tells the loop of each piece that is done.
//
//   struct Copy : SideThread::Piece {
//     void work() override { ... }   // on the thread
//     void done() override { ... }   // after that, on the loop
//   };
//   FRAY_RETURN_IF_ERROR(thread.submit(std::make_unique<Copy>(...)));
//
// Threading:  submit() and Piece::done() belong to the loop, Piece::work() to the thread, which the first piece starts.
// Ownership:  owns the pieces until they are done, and the thread. The end of a SideThread waits until the work of every
//             piece that was submitted is done, but for those that drop_waiting() has taken back; the loop is told of none.
// Failure:    submit() returns why there is no thread, or no descriptor to wake the loop with; its piece is gone then, and
//             the next one tries again.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "event/loop.h"
#include "os/fd.h"

namespace fray::node {

class SideThread {
 public:
  class Piece {
   public:
    virtual ~Piece() = default;
    virtual void work() = 0;
    virtual void done() = 0;
  };

  explicit SideThread(event::Loop& loop) : loop_(loop) {}
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  Status submit(std::unique_ptr<Piece> piece);
  // Takes back the pieces that the thread has not begun.
  void drop_waiting();

 private:
  Status start();
  void run();
  void collect();

  event::Loop& loop_;
  os::Fd wake_;
  Mutex mutex_;
  Condition changed_;
  std::deque<std::unique_ptr<Piece>> waiting_ FRAY_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Piece>> done_ FRAY_GUARDED_BY(mutex_);
  bool stopping_ FRAY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace fray::node
