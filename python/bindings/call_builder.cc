#include "call_builder.h"

#include <cstdio>

#include "client/call.h"
#include "wire/function_payload.h"

namespace fray::python {

namespace {
constexpr Py_ssize_t kMostArguments = 60'000;
constexpr std::size_t kMostNameBytes = 120;

}  // namespace

CallBuilder::CallBuilder(PythonClient* owner, const std::shared_ptr<client::Function>& function, const char* operation)
    : owner_(owner), task_(std::make_unique<client::Task>()) {
  task_->function = function;
  span_.begin_call(function->name, operation);
  portable_ = wire::is_cpp(wire::kind_of(*function->payload));
}

CallBuilder::~CallBuilder() {
  if (task_) owner_->client->tasks().release_arguments(*task_);
}

bool CallBuilder::build(const PythonPlan& plan, std::string_view name, PyObject* args, PyObject* kwargs) {
  const bool has_keywords = kwargs != nullptr && kwargs != Py_None;
  const Py_ssize_t keyword_count = has_keywords ? PyDict_GET_SIZE(kwargs) : 0;
  const Py_ssize_t positional = PyTuple_GET_SIZE(args);
  if (positional > kMostArguments || keyword_count > kMostArguments) {
    PyErr_SetString(PyExc_ValueError, "a task takes at most 60000 arguments; pass a list");
    return false;
  }
  if (portable_ && keyword_count > 0) {
    PyErr_SetString(PyExc_TypeError, "C++ functions take no keyword arguments");
    return false;
  }
  begin(plan, name, positional, keyword_count);
  if (client::Object* stored = task_->function->object; stored != nullptr) {
    client::retain(stored);
    extra().held.push_back(stored);
  }
  for (Py_ssize_t i = 0; i < positional; ++i) {
    char text[32];
    std::snprintf(text, sizeof(text), "argument %zd", i);
    if (!argument(PyTuple_GET_ITEM(args, i), text)) return false;
  }
  if (keyword_count == 0) return true;
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(kwargs, &position, &key, &value)) {
    if (!keyword(key) || !argument(value, PyUnicode_AsUTF8(key))) return false;
  }
  return true;
}

void CallBuilder::begin(const PythonPlan& plan, std::string_view name, Py_ssize_t positional, Py_ssize_t keywords) {
  wire::TaskHead head;
  head.function = task_->function->id;
  head.timeout_seconds = plan.timeout_seconds;
  head.returns = plan.options->returns;
  head.positional = static_cast<std::uint16_t>(positional);
  head.keywords = static_cast<std::uint16_t>(keywords);
  name = name.substr(0, kMostNameBytes);
  head.name_bytes = static_cast<std::uint8_t>(name.size());
  head.trace_bytes = static_cast<std::uint8_t>(span_.context().size());
  if (plan.options->generator) head.kind = wire::CallKind::kGenerator;
  if (task_->function->is_carried) head.kind = wire::CallKind::kCarried;
  head.item_budget_bytes = plan.item_budget_bytes;
  head.most_items = plan.most_items;
  std::string& out = task_->frame;
  out.reserve(client::kUsualFrameBytes);
  wire::begin_frame(out, wire::DirectType::kTask, 0);
  wire::ByteWriter writer(out);
  writer.put(head);
  writer.put_raw(name);
  writer.put_raw(span_.context());
}

bool CallBuilder::keyword(PyObject* name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) return false;
  wire::ByteWriter(task_->frame).put_string({text, static_cast<std::size_t>(size)});
  return true;
}

bool CallBuilder::argument(PyObject* value, const char* what) {
  if (is_ref(value)) return add_ref(as_ref(value));
  Encoded encoded;
  if (!(portable_ ? encoded.encode_portable(owner_, value, what) : encoded.encode(owner_, value, what))) return false;
  if (encoded.is_large()) {
    client::Object* object = encoded.store(owner_);
    if (object == nullptr) return false;
    add_object(object);
    return true;
  }
  wire::ValueView view;
  view.encoding = encoded.encoding();
  view.bytes = encoded.inline_bytes();
  std::vector<client::Object*> nested = encoded.take_nested();
  if (nested.empty()) {
    wire::ByteWriter out(task_->frame);
    wire::encode(out, view);
    return true;
  }
  std::vector<ObjectId> ids;
  for (client::Object* object : nested) ids.push_back(object->id);
  view.nested_count = static_cast<std::uint32_t>(ids.size());
  view.nested_bytes = {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ObjectId)};
  wire::ByteWriter out(task_->frame);
  wire::encode(out, view);
  std::vector<client::Object*>& held = extra().held;
  held.insert(held.end(), nested.begin(), nested.end());
  return true;
}

client::Task::Extra& CallBuilder::extra() {
  if (!task_->extra) task_->extra = std::make_unique<client::Task::Extra>();
  return *task_->extra;
}

bool CallBuilder::add_ref(PythonRef* ref) {
  if (ref->owner != owner_) {
    static PyObject* error = nullptr;
    if (imported(&error, "fray.errors", "ForeignRefError") == nullptr) return false;
    PyErr_SetString(error, "an argument is a ref of another context; get its value there and pass that");
    return false;
  }
  client::retain(ref->object);
  if (ref->object->stream) owner_->client->waits().lift_item_limit(ref->object);
  add_object(ref->object);
  return true;
}

void CallBuilder::add_object(client::Object* object) {
  extra().parts.push_back({std::move(task_->frame), object});
  task_->frame.clear();
}

PyObject* CallBuilder::refs(const std::vector<client::Object*>& results) {
  span_.name_task(results.front()->id);
  if (results.size() == 1) return new_ref(owner_, results.front());
  Owned list(PyList_New(static_cast<Py_ssize_t>(results.size())));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyObject* ref = new_ref(owner_, results[i]);
    if (ref == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), ref);
  }
  return list.release();
}

}  // namespace fray::python
