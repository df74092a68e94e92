#include "capi/executor.h"

#include <algorithm>
#include <cstdlib>

#include "capi/function.h"

namespace fray::capi {

// Numerical libraries that are loaded later use as many threads as the lease holds CPUs.
void Executor::leased(double cpus) {
  if (cpus == cpus_) return;
  cpus_ = cpus;
  std::string threads = std::to_string(std::max(1, static_cast<int>(cpus)));
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    ::setenv(name, threads.c_str(), 1);
  }
}

void Executor::bind(const wire::BindDevices& binding) {
  for (const auto& [name, value] : binding.environment) ::setenv(name.c_str(), value.c_str(), 1);
}

void Executor::define(std::uint64_t function, std::string_view payload) {
  Result<std::string_view> name = cpp_name_of(payload);
  auto entry = name.is_ok() ? Registry::instance().find_task(*name) : Result<TaskEntry>(name.status());
  const bool retrying = name.is_ok() && wire::kind_of(payload) == FunctionKind::kCppRetrying;
  functions_.insert_or_assign(function, Known{std::move(entry), retrying});
}

void Executor::run(const worker::TaskView& task, worker::Outcome* outcome) {
  auto interrupted = [this] { return loop_->interrupted() != worker::TaskLoop::Interrupt::kNone; };
  fray_call call(session_, task, {}, loop_, interrupted);
  auto found = functions_.find(task.head.function);
  if (found == functions_.end()) {
    call.fail("fray::Error", "the task's function did not arrive");
  } else if (!found->second.entry.is_ok()) {
    call.fail("fray::Error", found->second.entry.status().message());
  } else if (task.head.keywords != 0) {
    call.fail("fray::Error", "C++ functions take no keyword arguments");
  } else if (!call.readable) {
    call.fail("fray::Error", "the task's arguments do not fit their format");
  } else {
    const TaskEntry& entry = *found->second.entry;
    entry.body(&call, entry.context);
    call.end_forked_child();
    if (call.failed && found->second.retrying && task.head.may_retry != 0) call.retry();
  }
  switch (loop_->interrupted()) {
    case worker::TaskLoop::Interrupt::kCancelled:
      call.interrupted_with("the task was cancelled");
      outcome->status = wire::TaskStatus::kCancelled;
      return;
    case worker::TaskLoop::Interrupt::kTimedOut:
      call.interrupted_with("the task is past its timeout");
      outcome->status = wire::TaskStatus::kTimedOut;
      return;
    case worker::TaskLoop::Interrupt::kNone:
      call.finish(outcome);
  }
}

}  // namespace fray::capi
