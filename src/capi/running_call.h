// fray_call: one call that runs in this worker: its arguments and its answer.
//
//   RunningCall call(session, task, duty, interrupted);
//   body(&call, context);                 // which uses fray_call_argument() and fray_call_return()
//   call.finish(&outcome);
//
// Threading:  one thread; it is that thread's current call while it lives.
// Ownership:  looks into the task's frame, which must outlive it. Arguments in shared memory are pinned by their views.
// Failure:    a body that gives no answer has returned None; arguments that do not fit their format fail the call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "capi/session.h"
#include "capi/spans.h"
#include "worker/task_loop.h"

struct fray_call {
  // `class_name`: of an actor; empty for tasks.
  fray_call(fray_session& session, const fray::worker::TaskView& task, std::string_view class_name,
            fray::client::WorkerDuty* duty, fray::FunctionRef<bool()> interrupted);
  ~fray_call();
  fray_call(const fray_call&) = delete;
  fray_call& operator=(const fray_call&) = delete;

  fray_session& session;
  const fray::worker::TaskView& task;
  const std::string_view class_name;
  fray::client::WorkerDuty* const duty;
  const fray::FunctionRef<bool()> interrupted;
  std::vector<fray::wire::ValueView> arguments;
  bool readable = false;  // the arguments fit their format
  bool answered = false;  // with all values
  bool failed = false;
  fray::worker::Outcome outcome;

  void fail(std::string_view type_name, std::string_view message);
  // After the body. A child that it has forked and that comes back from it ends here, with 0, or 1 when it has failed: the
  // frames that it would return to are the worker's.
  void end_forked_child() const;
  // In place of its failure: it is to run again.
  void retry();
  // The answer; None where there was none. Its span ends here: who gets the answer finds the span in the pipe.
  void finish(fray::worker::Outcome* out);
  // In place of an answer.
  void interrupted_with(std::string_view why);
  // What goes along with what it calls; empty: its caller is not traced.
  std::string_view context() const { return span_.has_begun() ? span_.context() : task.trace; }

 private:
  // As people know it: "train", "Counter.add", "Counter".
  std::string full_name() const;
  void begin_span();

  fray_call* const outer_;
  fray::capi::Span span_;
};

namespace fray::capi {

fray_call* current_call();  // in a child of fork(): none

}  // namespace fray::capi
