// TraceSpan: a span of OpenTelemetry around a call that this process sends, or around a wait of it, while somebody traces.
//
//   TraceSpan span;
//   span.begin_call("train", "submit");   // span.context() goes along with the call
//
// Who makes spans is Python code (fray._trace_recorder), which set_tracer() names. While there is none, beginning one is a
// look at a pointer.
//
// Threading:  any thread with the GIL; a span ends on the thread that it began on.
// Ownership:  owns what ends the span, which it calls when it goes.
// Failure:    an exception that is set when it goes is the span's; it stays set. A tracer that raises makes no span.
#pragma once

#include <span>
#include <string_view>

#include "python_client.h"

namespace fray::python {

// Callables, or null: (name, operation) -> (context, end) or None, and (verb, ids, count, timeout) -> end or None, where `end`
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

  // `operation`: what is done with the callable of that name: "submit", "call" or "create".
  void begin_call(std::string_view name, const char* operation) {
    if (tracer.calls != nullptr) [[unlikely]]
      ask_for_call(name, operation);
  }
  // `verb`: "get" or "wait"; `timeout`: as the program gave it.
  void begin_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout) {
    if (tracer.waits != nullptr) [[unlikely]]
      ask_for_wait(verb, objects, timeout);
  }
  // The task's first result, once it has one.
  void name_task(ObjectId result) { task_ = result; }
  // A W3C traceparent; empty: there is no span.
  std::string_view context() const { return context_; }

 private:
  void ask_for_call(std::string_view name, const char* operation);
  void ask_for_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout);
  void end();

  Owned made_;  // keeps what context_ looks into
  Owned end_;
  std::string_view context_;
  ObjectId task_;
};

}  // namespace fray::python
