#include "client/tasks/task_queues.h"

namespace fray::client {

TaskQueue* TaskQueues::find(const WorkShape& shape) const {
  auto found = by_shape_.find(shape);
  return found != by_shape_.end() ? found->second.get() : nullptr;
}

TaskQueue* TaskQueues::add(const WorkShape& shape) {
  auto made = std::make_unique<TaskQueue>();
  made->number = next_number_++;
  made->shape = shape;
  made->window = &windows_[shape.of_any_key()];
  by_number_[made->number] = made.get();
  return (by_shape_[shape] = std::move(made)).get();
}

TaskQueue* TaskQueues::at(std::uint32_t number) const {
  auto found = by_number_.find(number);
  return found != by_number_.end() ? found->second : nullptr;
}

std::vector<TaskQueue*> TaskQueues::of_key(WorkerKeyId key) const {
  std::vector<TaskQueue*> queues;
  const auto end = first_of(by_shape_, key + 1);
  for (auto each = first_of(by_shape_, key); each != end; ++each) queues.push_back(each->second.get());
  return queues;
}

std::vector<TaskQueue*> TaskQueues::all() const {
  std::vector<TaskQueue*> queues;
  queues.reserve(by_number_.size());
  for (const auto& [number, queue] : by_number_) queues.push_back(queue);
  return queues;
}

void TaskQueues::remove_key(WorkerKeyId key) {
  for (TaskQueue* queue : of_key(key)) by_number_.erase(queue->number);
  by_shape_.erase(first_of(by_shape_, key), first_of(by_shape_, key + 1));
}

}  // namespace fray::client
