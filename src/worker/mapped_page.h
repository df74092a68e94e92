// MappedPage: this worker's page, which the node reads to know what runs here.
//
// Threading:  started(), ended() and blocked() on the task thread.
// Ownership:  owns the mapping; closes the descriptor.
// Failure:    without a page (a bad descriptor) it writes into a private one that nobody reads.
#pragma once

#include "model/worker_page.h"
#include "worker/task_loop.h"

namespace fray::worker {

class MappedPage : public Page {
 public:
  explicit MappedPage(int fd);
  ~MappedPage() override;
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;

  void leased() override { page_->task_number.store(0, std::memory_order_release); }
  void started(const TaskView& task, std::string_view name, std::uint64_t now_ns) override {
    page_->begin_task(task.number, name, now_ns, task.head.depth, task.client);
  }
  void caller_joined(std::uint32_t slot, ProcessId client) override { page_->caller_joined(slot, client); }
  void caller_left(std::uint32_t slot) override { page_->caller_left(slot); }
  void call_started(std::uint32_t slot, std::uint64_t number) override { page_->call_started(slot, number); }
  void call_ended(std::uint32_t slot, std::uint64_t number) override { page_->call_ended(slot, number); }
  void ended() override { page_->end_task(); }
  void blocked(bool is_blocked) override {
    page_->state.store(is_blocked ? WorkerState::kBlocked : WorkerState::kRunning, std::memory_order_release);
  }

 private:
  WorkerPage private_;
  WorkerPage* page_ = &private_;
};

}  // namespace fray::worker
