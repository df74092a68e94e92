// CallFrame: builds the frame of a task or an actor call from values of the C API.
//
// Threading:  one thread; no lock is held.
// Ownership:  owns the task, and a count of each object among its arguments, until finish().
// Failure:    build() fails if the store has no room for a large argument; then nothing is submitted.
#pragma once

#include <memory>
#include <string_view>

#include <fray.h>

#include "capi/session.h"

namespace fray::capi {

class CallFrame {
 public:
  // `operation`: the verb of the call's span: "submit", "call" or "create".
  CallFrame(fray_session& session, std::shared_ptr<client::Function> function, std::string_view operation);
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // `name`: the name that the worker shows for the call.
  Status build(std::string_view name, double timeout_seconds, std::uint16_t returns, const fray_value* arguments,
               std::size_t count);
  std::unique_ptr<client::Task> finish() { return std::move(task_); }
  // Ends the span of the call with its outcome.
  void sent(const ObjectId& result);
  const Status& not_sent(const Status& why);

 private:
  Status add(const fray_value& argument);
  void add_object(client::Object* object);  // takes over a count of the caller
  client::Task::Extra& extra();

  fray_session& session_;
  std::unique_ptr<client::Task> task_;
  std::shared_ptr<client::Function> function_;  // set only if the call is traced
  Span span_;
};

}  // namespace fray::capi
