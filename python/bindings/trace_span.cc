#include "trace_span.h"

#include <algorithm>
#include <csignal>

#include "functions.h"

namespace fray::python {

Tracer tracer;

namespace {

constexpr std::size_t kMostLinks = 32;          // links of a span of a wait
constexpr std::size_t kMostContextBytes = 255;  // TaskHead::trace_bytes

// What the tracer's own code raises is printed, for tracing changes nothing. But an interrupt that has come while that code
// ran was meant for the code around it, so its signal is sent again.
void pass_over(PyObject* where) {
  static PyObject* is_interrupt = nullptr;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  bool interrupted = PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) != 0;
  if (!interrupted && imported(&is_interrupt, "fray.job.interruption", "is_interrupt") != nullptr) {
    Owned answer(PyObject_CallOneArg(is_interrupt, error));
    interrupted = answer.get() == Py_True;
  }
  PyErr_Restore(type, error, traceback);
  if (!interrupted) return PyErr_WriteUnraisable(where);
  PyErr_Clear();
  PyErr_SetInterruptEx(SIGINT);
}

PyObject* bytes_of(const ObjectId& id) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&id), sizeof(id));
}

}  // namespace

void TraceSpan::ask_for_call(std::string_view name, const char* operation) {
  made_ =
      Owned(PyObject_CallFunction(tracer.calls, "s#s", name.data(), static_cast<Py_ssize_t>(name.size()), operation));
  if (!made_) return pass_over(tracer.calls);
  if (made_.get() == Py_None) return;
  const char* context = nullptr;
  Py_ssize_t size = 0;
  PyObject* end = nullptr;
  if (!PyArg_ParseTuple(made_.get(), "y#O", &context, &size, &end)) return pass_over(tracer.calls);
  end_ = Owned(Py_NewRef(end));
  if (static_cast<std::size_t>(size) <= kMostContextBytes) context_ = {context, static_cast<std::size_t>(size)};
}

void TraceSpan::ask_for_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout) {
  Owned ids(PyList_New(0));
  for (client::Object* object : objects.first(std::min(objects.size(), kMostLinks))) {
    Owned id(ids ? bytes_of(object->id) : nullptr);
    if (!id || PyList_Append(ids.get(), id.get()) != 0) return pass_over(tracer.waits);
  }
  Owned end(
      PyObject_CallFunction(tracer.waits, "sOnO", verb, ids.get(), static_cast<Py_ssize_t>(objects.size()), timeout));
  if (!end) return pass_over(tracer.waits);
  if (end.get() != Py_None) end_ = std::move(end);
}

void TraceSpan::end() {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  if (type != nullptr) PyErr_NormalizeException(&type, &error, &traceback);
  Owned task(task_ == ObjectId{} ? Py_NewRef(Py_None) : bytes_of(task_));
  Owned ended(task ? PyObject_CallFunctionObjArgs(end_.get(), error == nullptr ? Py_None : error, task.get(), nullptr)
                   : nullptr);
  if (!ended) pass_over(end_.get());
  PyErr_Restore(type, error, traceback);
}

namespace {

void replace(PyObject*& place, PyObject* with) { Py_XSETREF(place, with == Py_None ? nullptr : Py_NewRef(with)); }

}  // namespace

void set_tracer(CallTracerOrNone calls, WaitTracerOrNone waits) {
  replace(tracer.calls, calls);
  replace(tracer.waits, waits);
}

}  // namespace fray::python
