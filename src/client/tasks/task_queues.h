// TaskQueues: the queues of a TaskTable, by shape and by the number of their demand.
//
//   TaskQueue* queue = queues.find(shape);
//   if (queue == nullptr) queue = queues.add(shape);
//   queues.at(grant.demand);
//
// Threading:  guarded by the client's mutex.
// Ownership:  owns the queues, and the windows of their demands.
// Failure:    find() and at() return null for what is not there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "client/tasks/task_queue.h"

namespace fray::client {

class TaskQueues {
 public:
  TaskQueue* find(const WorkShape& shape) const;
  TaskQueue* add(const WorkShape& shape);
  TaskQueue* at(std::uint32_t number) const;
  std::vector<TaskQueue*> of_key(WorkerKeyId key) const;
  std::vector<TaskQueue*> all() const;
  void remove_key(WorkerKeyId key);

 private:
  using ByShape = std::map<WorkShape, std::unique_ptr<TaskQueue>>;
  static ByShape::const_iterator first_of(const ByShape& queues, WorkerKeyId key) {
    return queues.lower_bound(WorkShape::first_of(key));
  }

  ByShape by_shape_;
  std::map<WorkShape, DemandWindow> windows_;  // by shapes of any key
  std::unordered_map<std::uint32_t, TaskQueue*> by_number_;
  // Never given twice: a message of the node about a former number may still be on its way.
  std::uint32_t next_number_ = 0;
};

}  // namespace fray::client
