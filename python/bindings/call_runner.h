// CallRunner: runs one call in a worker: decodes its arguments, calls the function, and encodes its results or its
// exception.
//
// Threading:  any thread with the GIL.
// Ownership:  borrows the client and the support module (fray.backend.native.worker), which outlive it.
// Failure:    false or null with a Python exception set; fail() makes an outcome of it and clears it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "values.h"
#include "worker/task_loop.h"

namespace fray::python {

class CallRunner {
 public:
  CallRunner(PythonClient* owner, PyObject* support) : owner_(owner), support_(support) {}

  // Positional, then keyword arguments of a frame, as new references; `names` of the keywords.
  bool arguments(const worker::TaskView& task, std::vector<PyObject*>* values, Owned* names);
  // What is called is asked for when the arguments are there, whose loading may change it; it is borrowed.
  using Callable = std::function<PyObject*()>;
  PyObject* call(const Callable& callable, const worker::TaskView& task);
  PyObject* call(PyObject* callable, const worker::TaskView& task) {
    return call([callable] { return callable; }, task);
  }
  // Calls what makes an iterator and gives each item to `send`, encoded. `send` returns false when nobody takes more of
  // them. None; null with an exception set when an item or the iterator failed.
  using SendItem = std::function<bool(std::uint32_t index, std::string_view bytes, std::uint64_t size)>;
  PyObject* stream(const Callable& callable, const worker::TaskView& task, const SendItem& send);
  PyObject* stream(PyObject* callable, const worker::TaskView& task, const SendItem& send) {
    return stream([callable] { return callable; }, task, send);
  }

  // One value of a result or item, as it goes into a frame. What others have to hold is recorded at the node first.
  bool encode_value(PyObject* value, ObjectId id, const worker::TaskView& task, const char* what, std::string* out,
                    std::uint64_t* size);
  bool encode_results(PyObject* result, const worker::TaskView& task, worker::Outcome* outcome);
  // The raised exception, packed; in words, where the caller is not Python. `name` is the task's.
  void fail(std::string_view name, bool portable, worker::Outcome* outcome);

  // In a child that user code has forked this ends the process, as the end of a program does, with what is raised: the
  // child has no loop to go back to. Called with the GIL wherever user code comes back.
  void end_forked_child() const {
    if (owner_->inherited) end_this_child();
  }

  // Of the arguments and results of this thread's call, since reset_bytes().
  void reset_bytes();
  void note_bytes(worker::Outcome* outcome) const;

  PythonClient* owner() const { return owner_; }
  PyObject* support() const { return support_; }

 private:
  [[noreturn]] void end_this_child() const;
  // `callable`, such that a call of it is a span of the caller's trace.
  Owned traced(PyObject* callable, const worker::TaskView& task) const;
  bool argument(wire::ByteReader& in, std::vector<PyObject*>* values);
  bool encode_several(PyObject* result, ObjectId id, const worker::TaskView& task, worker::Outcome* outcome);

  PythonClient* owner_;
  PyObject* support_;
};

}  // namespace fray::python
