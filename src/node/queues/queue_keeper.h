// QueueKeeper: writes what the QueueTable decides, on a thread of its own, while the node's loop goes on. What comes while
// it writes is written together after that: the busier the queues, the more requests share one sync of the disk.
//
// Threading:  the node's loop; the database is the side thread's.
// Ownership:  owns the thread and the database. Work in hand is finished before the end.
// Failure:    when work fails the callback gets its Status, and nothing of it is on the disk. submit() returns why no work
//             can begin.
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
    bool reads = false;  // makes a table of the kept records; opens the database if it is not open
    std::vector<queue::Command> commands;
  };
  struct Done {
    Status status;
    std::unique_ptr<queue::QueueTable> table;  // the table that was read, which takes long for a large one
    std::vector<queue::Answered> answers;      // in the order of the commands
  };
  using OnDone = std::function<void(Done done)>;

  // `folder`: that of the database, made with the first work; it is in the home if `in_home`.
  QueueKeeper(event::Loop& loop, std::string folder, bool in_home, OnDone on_done);

  // One piece of work at a time: the next may be submitted when the callback was called.
  Status submit(Work work);

 private:
  struct Turn;

  Done carry_out(Work work);
  Status open();

  const std::string folder_;
  const bool in_home_;
  OnDone on_done_;
  std::unique_ptr<QueueStore> store_;  // used by the thread alone
  SideThread thread_;
};

}  // namespace fray::node
