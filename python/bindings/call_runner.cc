#include "call_runner.h"

#include <unistd.h>

namespace fray::python {

using wire::TaskStatus;

namespace {
thread_local std::uint64_t bytes_in = 0;
thread_local std::uint64_t bytes_out = 0;
}  // namespace

void CallRunner::reset_bytes() { bytes_in = bytes_out = 0; }

void CallRunner::note_bytes(worker::Outcome* outcome) const {
  outcome->bytes_in = bytes_in;
  outcome->bytes_out = bytes_out;
}

bool CallRunner::argument(wire::ByteReader& in, std::vector<PyObject*>* values) {
  wire::ValueView view = wire::decode_value(in);
  bytes_in += view.kind == wire::ValueKind::kSealed ? view.location.size : view.bytes.size();
  PyObject* value = decode_value(owner_, view);
  if (value != nullptr) values->push_back(value);
  return value != nullptr;
}

void CallRunner::end_this_child() const {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr && error != nullptr) PyException_SetTraceback(error, traceback);
  Owned ended(PyObject_CallMethod(support_, "end_process", "O", error == nullptr ? Py_None : error));
  ::_exit(1);  // it does not return
}

// Positional and keyword arguments of a frame; null with an exception set.
bool CallRunner::arguments(const worker::TaskView& task, std::vector<PyObject*>* values, Owned* names) {
  wire::ByteReader in(task.arguments);
  for (int i = 0; i < task.head.positional; ++i) {
    if (!argument(in, values)) return false;
  }
  if (task.head.keywords > 0) {
    *names = Owned(PyTuple_New(task.head.keywords));
    if (!*names) return false;
  }
  for (int i = 0; i < task.head.keywords; ++i) {
    std::string_view name = in.get_string();
    PyObject* text = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    if (text == nullptr) return false;
    PyTuple_SET_ITEM(names->get(), i, text);
    if (!argument(in, values)) return false;
  }
  if (in.done()) return true;
  PyErr_SetString(PyExc_RuntimeError, "the task's arguments do not fit their format");
  return false;
}

Owned CallRunner::traced(PyObject* callable, const worker::TaskView& task) const {
  Owned made(PyObject_CallMethod(
      support_, "traced", "Oy#s#Ki", callable, task.trace.data(), static_cast<Py_ssize_t>(task.trace.size()),
      task.name.data(), static_cast<Py_ssize_t>(task.name.size()), task.number, static_cast<int>(task.head.attempt)));
  if (made) return made;
  PyErr_WriteUnraisable(support_);
  return Owned(Py_NewRef(callable));
}

PyObject* CallRunner::call(const Callable& callable, const worker::TaskView& task) {
  std::vector<PyObject*> values;
  values.reserve(static_cast<std::size_t>(task.head.positional) + task.head.keywords + 1u);
  values.push_back(nullptr);  // room for a bound method's self
  Owned names;
  PyObject* result = nullptr;
  PyObject* function = arguments(task, &values, &names) ? callable() : nullptr;
  Owned carrier;
  if (function != nullptr && task.head.kind == wire::CallKind::kCarried && task.head.positional > 0) {
    carrier = Owned(std::exchange(values[1], Py_NewRef(function)));
    function = carrier.get();
  }
  Owned spanned;
  if (function != nullptr && !task.trace.empty()) {
    spanned = traced(function, task);
    function = spanned.get();
  }
  if (function != nullptr) {
    result = PyObject_Vectorcall(function, values.data() + 1, task.head.positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 names.get());
    end_forked_child();
  }
  for (PyObject* value : values) Py_XDECREF(value);
  return result;
}

PyObject* CallRunner::stream(const Callable& callable, const worker::TaskView& task, const SendItem& send) {
  Owned generator(call(callable, task));
  if (!generator) return nullptr;
  Owned iterator(PyObject_GetIter(generator.get()));
  if (!iterator) return nullptr;
  for (std::uint32_t index = 0;; ++index) {
    Owned item(PyIter_Next(iterator.get()));
    if (owner_->inherited && item) {  // items of a forked child are not used
      Owned closed(PyObject_CallMethod(iterator.get(), "close", nullptr));
    }
    end_forked_child();
    if (!item) break;
    std::string bytes;
    std::uint64_t size = 0;
    if (!encode_value(item.get(), owner_->client->objects().new_object_id(), task, "an item", &bytes, &size))
      return nullptr;
    if (!send(index, bytes, size)) return Py_NewRef(Py_None);
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return Py_NewRef(Py_None);
}

// Encodes one value of a result or item for a frame. Objects that other processes have to hold are recorded at the node
// first.
bool CallRunner::encode_value(PyObject* value, ObjectId id, const worker::TaskView& task, const char* what,
                              std::string* out, std::uint64_t* size) {
  Encoded encoded;
  const bool portable = task.head.portable != 0;
  if (!(portable ? encoded.encode_portable(owner_, value, what) : encoded.encode(owner_, value, what))) return false;
  wire::Value wire_value;
  wire_value.encoding = encoded.encoding();
  client::Object* made = nullptr;
  if (!encoded.nested().empty()) {
    owner_->client->objects().share(encoded.nested());
    for (client::Object* object : encoded.nested()) wire_value.nested.push_back(object->id);
  }
  if (encoded.is_large()) {
    made = encoded.store(owner_);
    if (made == nullptr) return false;
    wire_value.kind = wire::ValueKind::kSealed;
    wire_value.location = made->detail->location;
    *size = wire_value.location.size;
  } else {
    wire_value.bytes = encoded.inline_bytes();
    wire_value.object = id;
    *size = wire_value.bytes.size() + 1;
  }
  bytes_out += *size;
  if (made != nullptr || !wire_value.nested.empty()) owner_->client->record_result(id, task.client, wire_value, made);
  if (made != nullptr) owner_->client->objects().release(made);
  wire::ByteWriter writer(*out);
  wire::encode(writer, wire_value);
  const std::uint64_t most = wire::most_body_bytes(owner_->client->node().store_limit_bytes);
  if (out->size() <= most) return true;
  raise_status(worker::too_large("what the task gives is", out->size(), most));
  return false;
}

bool CallRunner::encode_results(PyObject* result, const worker::TaskView& task, worker::Outcome* outcome) {
  ObjectId id{owner_->client->node().epoch, task.client, task.number};
  std::uint64_t size = 0;
  if (task.head.returns != 1) return encode_several(result, id, task, outcome);
  outcome->values = 1;
  return encode_value(result, id, task, "the result", &outcome->bytes, &size);
}

bool CallRunner::encode_several(PyObject* result, ObjectId id, const worker::TaskView& task, worker::Outcome* outcome) {
  Owned items(PySequence_Tuple(result));
  if (!items) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Format(PyExc_TypeError, "the task was given num_returns=%u, but its function returned one %s",
                 task.head.returns, Py_TYPE(result)->tp_name);
    return false;
  }
  if (PyTuple_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(task.head.returns)) {
    PyErr_Format(PyExc_ValueError, "the task was given num_returns=%u, but its function returned %zd values",
                 task.head.returns, PyTuple_GET_SIZE(items.get()));
    return false;
  }
  std::uint64_t size = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    ObjectId item_id = id;
    item_id.sequence += static_cast<std::uint64_t>(i);
    if (!encode_value(PyTuple_GET_ITEM(items.get(), i), item_id, task, "a result", &outcome->bytes, &size)) {
      return false;
    }
  }
  outcome->values = static_cast<std::uint16_t>(task.head.returns);
  return true;
}

// The raised exception, packed.
void CallRunner::fail(std::string_view name, bool portable, worker::Outcome* outcome) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr && error != nullptr) PyException_SetTraceback(error, traceback);
  outcome->status = TaskStatus::kFailed;
  outcome->values = 1;
  outcome->bytes.clear();
  wire::Value value;
  value.encoding = wire::Encoding::kException;
  if (portable) value.encoding = wire::Encoding::kFailure;
  Owned pack(PyObject_GetAttrString(support_, portable ? "describe_exception" : "pack_exception"));
  Owned packed(pack && error != nullptr
                   ? PyObject_CallFunction(pack.get(), "Os#", error, name.data(), static_cast<Py_ssize_t>(name.size()))
                   : nullptr);
  if (packed && PyBytes_Check(packed.get())) {
    value.bytes.assign(PyBytes_AS_STRING(packed.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(packed.get())));
  } else {
    PyErr_Clear();
    value.encoding = wire::Encoding::kStatus;
    value.bytes = std::string(1, static_cast<char>(StatusCode::kInternal)) + "the task failed, and so did its report";
  }
  wire::ByteWriter out(outcome->bytes);
  wire::encode(out, value);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
}

}  // namespace fray::python
