// QueueKeeper: writes what the QueueTable decides, on a thread of its own, while the node's loop goes on. What comes while
// it writes is written together after that: the busier the queues, the more requests share one sync of the disk.
//
// Threading:  the node's loop; the database is the side thread's.
// Ownership:  owns the thread and the database. Work in hand is finished before the end.
// Failure:    work that fails is told to the callback with its Status; nothing of it is on the disk then. submit() returns
//             why no work can begin.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "event/loop.h"
#include "node/queues/queue_store.h"
#include "node/side_thread.h"
#include "queue/queue_commands.h"
#include "queue/queue_table.h"

namespace fray::node {

class QueueKeeper {
 public:
  struct Work {
    bool reads = false;  // makes a table of what is kept; opens the database where it is not open
    std::vector<queue::Command> commands;
  };
  struct Done {
    Status status;
    std::unique_ptr<queue::QueueTable> table;  // that was read: a large one takes its time
    std::vector<queue::Answered> answers;      // in the order of the commands
  };
  using OnDone = std::function<void(Done done)>;

  // `folder`: of the database, made with the first work; in the home if `in_home`.
  QueueKeeper(event::Loop& loop, std::string folder, bool in_home, OnDone on_done);

  // One piece of work at a time: the next when the callback was called.
  Status submit(Work work);

 private:
  struct Turn;

  Done carry_out(Work work);
  Status open();

  const std::string folder_;
  const bool in_home_;
  OnDone on_done_;
  std::unique_ptr<QueueStore> store_;  // the thread's
  SideThread thread_;
};

}  // namespace fray::node
