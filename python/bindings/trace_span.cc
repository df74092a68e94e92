#include "trace_span.h"

#include <algorithm>

#include "functions.h"

namespace fray::python {

Tracer tracer;

namespace {

constexpr std::size_t kMostLinks = 32;          // links of a span of a wait
constexpr std::size_t kMostContextBytes = 255;  // TaskHead::trace_bytes

PyObject* bytes_of(const ObjectId& id) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&id), sizeof(id));
}

}  // namespace

void TraceSpan::ask_for_call(std::string_view name, const char* operation) {
  made_ =
      Owned(PyObject_CallFunction(tracer.calls, "s#s", name.data(), static_cast<Py_ssize_t>(name.size()), operation));
  if (!made_) return PyErr_WriteUnraisable(tracer.calls);
  if (made_.get() == Py_None) return;
  const char* context = nullptr;
  Py_ssize_t size = 0;
  PyObject* end = nullptr;
  if (!PyArg_ParseTuple(made_.get(), "y#O", &context, &size, &end)) return PyErr_WriteUnraisable(tracer.calls);
  end_ = Owned(Py_NewRef(end));
  if (static_cast<std::size_t>(size) <= kMostContextBytes) context_ = {context, static_cast<std::size_t>(size)};
}

void TraceSpan::ask_for_wait(const char* verb, std::span<client::Object* const> objects, PyObject* timeout) {
  Owned ids(PyList_New(0));
  for (client::Object* object : objects.first(std::min(objects.size(), kMostLinks))) {
    Owned id(ids ? bytes_of(object->id) : nullptr);
    if (!id || PyList_Append(ids.get(), id.get()) != 0) return PyErr_WriteUnraisable(tracer.waits);
  }
  Owned end(
      PyObject_CallFunction(tracer.waits, "sOnO", verb, ids.get(), static_cast<Py_ssize_t>(objects.size()), timeout));
  if (!end) return PyErr_WriteUnraisable(tracer.waits);
  if (end.get() != Py_None) end_ = std::move(end);
}

void TraceSpan::end() {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  if (type != nullptr) PyErr_NormalizeException(&type, &error, &traceback);
  Owned task(task_ == ObjectId{} ? Py_NewRef(Py_None) : bytes_of(task_));
  Owned ended(task ? PyObject_CallFunctionObjArgs(end_.get(), error == nullptr ? Py_None : error, task.get(), nullptr)
                   : nullptr);
  if (!ended) PyErr_WriteUnraisable(end_.get());
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
