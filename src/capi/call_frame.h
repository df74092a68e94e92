// CallFrame: builds the frame of a task or of an actor's call from values of the C API.
//
// Threading:  one thread; no lock is held.
// Ownership:  owns the task, and counts on the objects among its arguments, until finish().
// Failure:    build() fails when a large argument finds no room in the store; nothing is submitted then.
#pragma once

#include <memory>
#include <string_view>

#include <fray.h>

#include "capi/session.h"

namespace fray::capi {

class CallFrame {
 public:
  // `operation`: what is done with the function: "submit", "call" or "create".
  CallFrame(fray_session& session, std::shared_ptr<client::Function> function, std::string_view operation);
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // `name` is what the worker knows the call by.
  Status build(std::string_view name, double timeout_seconds, std::uint16_t returns, const fray_value* arguments,
               std::size_t count);
  std::unique_ptr<client::Task> finish() { return std::move(task_); }
  // What became of it, for its span.
  void sent(const ObjectId& result);
  const Status& not_sent(const Status& why);

 private:
  Status add(const fray_value& argument);
  void add_object(client::Object* object);  // takes over a count
  client::Task::Extra& extra();

  fray_session& session_;
  std::unique_ptr<client::Task> task_;
  std::shared_ptr<client::Function> function_;  // where it is traced
  Span span_;
};

}  // namespace fray::capi
