// TraceSpan: a span of OpenTelemetry for a call that this process sends, or for a wait of this process.
//
//   TraceSpan span;
//   span.begin_call("train", "submit");   // span.context() is sent with the call
//
// Python code makes the spans (fray._trace_recorder), through the callables that set_tracer() is given. While traces
// are off there are none, and beginning a span costs one look at a pointer.
//
// Threading:  any thread with the GIL; a span ends on the thread on which it began.
// Ownership:  owns the callable that ends the span, and calls it in its destructor.
// Failure:    a Python exception that is set in the destructor is recorded in the span and stays set. If the tracer
//             raises, there is no span.
#pragma once

#include <span>
#include <string_view>

#include "python_client.h"

namespace fray::python {

// Callables, or null: (name, operation) -> (context, end) or None, and (verb, ids, count, timeout) -> end or None. `end`
// takes the exception or None, and the id of the task's first result or None; ids are bytes. Guarded by the GIL.
struct Tracer {
  PyObject* calls = nullptr;
  PyObject* waits = nullptr;
};
extern Tracer tracer;

class TraceSpan {
 public:
  TraceSpan() = default;
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (end_) end();
  }

  // `operation`: the verb of the span: "submit", "call" or "create".
  void begin_call(std::string_view name, const char* operation) {
    if (tracer.calls != nullptr) [[unlikely]]
      ask_for_call(name, operation);
  }
  // `verb`: "get" or "wait"; `timeout`: as the program gave it.
  void begin_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout) {
    if (tracer.waits != nullptr) [[unlikely]]
      ask_for_wait(verb, objects, timeout);
  }
  // Sets the first result of the task that the call has submitted.
  void name_task(ObjectId result) { task_ = result; }
  // The W3C traceparent of the span; empty if there is no span.
  std::string_view context() const { return context_; }

 private:
  void ask_for_call(std::string_view name, const char* operation);
  void ask_for_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout);
  void end();

  Owned made_;  // keeps the memory to which context_ refers
  Owned end_;
  std::string_view context_;
  ObjectId task_;
};

}  // namespace fray::python
