// fray_call: one call that runs in this worker: its arguments and its answer.
//
//   RunningCall call(session, task, duty, interrupted);
//   body(&call, context);                 // which uses fray_call_argument() and fray_call_return()
//   call.finish(&outcome);
//
// Threading:  one thread; the call is the current call of its thread while it lives.
// Ownership:  refers to the frame of the task, which must outlive it. Views of arguments in shared memory pin them.
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
  // `class_name`: the class of an actor; empty for a task.
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
  bool readable = false;  // whether the arguments fit their format
  bool answered = false;  // whether all values of the answer were given
  bool failed = false;
  fray::worker::Outcome outcome;

  void fail(std::string_view type_name, std::string_view message);
  // Called after the body. If the body has forked, and the child returns from it too, the child ends here, with 0, or
  // with 1 if the call has failed: the stack frames above belong to the worker.
  void end_forked_child() const;
  // Asks for another attempt of the task, in place of a failure.
  void retry();
  // Gives the answer, None if the body gave none. The span of the call ends before the answer is sent, so that whoever
  // gets the answer finds the span in the pipe.
  void finish(fray::worker::Outcome* out);
  // Fails the call, in place of an answer.
  void interrupted_with(std::string_view why);
  // The trace context that is sent with calls of the body; empty if the caller of this call is not traced.
  std::string_view context() const { return span_.has_begun() ? span_.context() : task.trace; }

 private:
  // The name that people see, such as "train", "Counter.add" or "Counter".
  std::string full_name() const;
  void begin_span();

  fray_call* const outer_;
  fray::capi::Span span_;
};

namespace fray::capi {

fray_call* current_call();  // null outside of a call, and in a child of fork()

}  // namespace fray::capi
