// QueueStore: queues, items and leases in a database, as the commands of the QueueTable say.
//
// Threading:  one thread at a time.
// Ownership:  owns the database, `queues.db`.
// Failure:    as Database. A damaged database is left as it is: a user who moves it aside gives its content up.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/database.h"
#include "queue/queue_commands.h"

namespace fray::node {

class QueueStore {
 public:
  // Opens the database in `folder`, which exists.
  static Result<std::unique_ptr<QueueStore>> open(const std::string& folder);
  QueueStore(const QueueStore&) = delete;
  QueueStore& operator=(const QueueStore&) = delete;

  Result<queue::Kept> read();
  // Writes all changes or none; answers are ignored.
  Status apply(const std::vector<queue::Command>& commands);
  // Fills in the bytes of the items that the answer contains. Items that were purged since are left out.
  Status fill(queue::Answer* answer);

 private:
  explicit QueueStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  Status prepare();
  Status apply_one(const queue::KeepQueue& command);
  Status apply_one(const queue::DropQueue& command);
  Status apply_one(const queue::DropWaiting& command);
  Status apply_one(const queue::KeepItem& command);
  Status apply_one(const queue::DropItem& command);
  Status apply_one(const queue::KeepLease& command);
  Status apply_one(const queue::DropLease& command);
  Status apply_one(const queue::KeepMemory& command);
  Status apply_one(const queue::DropMemory& command);
  Status apply_one(const queue::KeepNext& command);
  Status apply_one(const queue::Answered&) { return Status::ok(); }

  std::unique_ptr<Database> database_;
  Statement keep_queue_;
  Statement drop_queue_;
  Statement drop_leases_of_;
  Statement drop_items_of_;
  Statement drop_waiting_;
  Statement keep_item_;
  Statement drop_item_;
  Statement keep_lease_;
  Statement drop_lease_;
  Statement keep_memory_;
  Statement drop_memory_;
  Statement keep_next_;
  Statement bytes_of_;
};

}  // namespace fray::node
