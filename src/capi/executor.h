// Executor: runs registered C++ functions as tasks.
//
// Threading:  the task thread; interrupt() comes from the backup thread and does nothing: a running call asks whether it
//             was cancelled, and waits give up by themselves.
// Ownership:  borrows the session and the loop, which outlive it.
// Failure:    a function that is not registered, or a callable of another language, is the task's failure.
#pragma once

#include <string>
#include <unordered_map>

#include "capi/registry.h"
#include "capi/running_call.h"
#include "wire/lease.h"

namespace fray::capi {

class Executor : public worker::Executor {
 public:
  explicit Executor(fray_session& session) : session_(session) {}
  void attach(worker::TaskLoop* loop) { loop_ = loop; }

  void leased(double cpus) override;
  void bind(const wire::BindDevices& binding) override;
  void define(std::uint64_t function, std::string_view payload) override;
  void forget(std::uint64_t function) override { functions_.erase(function); }
  void run(const worker::TaskView& task, worker::Outcome* outcome) override;
  void interrupt() override {}
  void end_system_call() override {}
  void before_sleep() override {}
  void after_sleep() override {}

 private:
  fray_session& session_;
  worker::TaskLoop* loop_ = nullptr;
  struct Known {
    Result<TaskEntry> entry;
    bool retrying = false;
  };
  std::unordered_map<std::uint64_t, Known> functions_;
  double cpus_ = 0;
};

}  // namespace fray::capi
