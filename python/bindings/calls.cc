// Functions and calls: a callable made known to workers, and the submission of a task.
//
// Threading:  any thread with the GIL.
// Ownership:  a Function is shared by Python and by the tasks that call it.
// Failure:    what cannot be pickled is named with its place; nothing is submitted then.
#include <cstring>

#define XXH_INLINE_ALL  // no library to carry along
#include <xxhash.h>

#include "values.h"

namespace fray::python {

namespace {

struct PythonFunction {
  PyObject_HEAD std::shared_ptr<client::Function>* function;
};
PyTypeObject* function_type = nullptr;

// How tasks of one TaskOptions are submitted; made once per options object and kept by Python.
struct PythonPlan {
  PyObject_HEAD client::TaskOptions* options;
  double timeout_seconds;
  std::uint64_t item_budget_bytes;
};
PyTypeObject* plan_type = nullptr;

void function_dealloc(PyObject* self) {
  delete reinterpret_cast<PythonFunction*>(self)->function;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void plan_dealloc(PyObject* self) {
  delete reinterpret_cast<PythonPlan*>(self)->options;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot function_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)}, {0, nullptr}};
PyType_Spec function_spec{"fray._native.Function", sizeof(PythonFunction), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};
PyType_Slot plan_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plan_dealloc)}, {0, nullptr}};
PyType_Spec plan_spec{"fray._native.Plan", sizeof(PythonPlan), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, plan_slots};

// make_function(kind, payload, name, max_calls): kind 0 is "module:qualname", 1 a pickle.
PyObject* make_function(PyObject*, PyObject* args) {
  int kind = 0;
  const char* payload = nullptr;
  Py_ssize_t payload_size = 0;
  const char* name = nullptr;
  unsigned int max_calls = 0;
  if (!PyArg_ParseTuple(args, "iy#sI", &kind, &payload, &payload_size, &name, &max_calls)) return nullptr;
  auto function = std::make_shared<client::Function>();
  function->name = name;
  function->payload.push_back(static_cast<char>(kind));
  function->payload.append(reinterpret_cast<const char*>(&max_calls), sizeof(max_calls));
  function->payload.append(payload, static_cast<std::size_t>(payload_size));
  function->id = XXH3_64bits(function->payload.data(), function->payload.size()) | 1;  // 0 means none
  auto* self = PyObject_New(PythonFunction, function_type);
  if (self == nullptr) return nullptr;
  self->function = new std::shared_ptr<client::Function>(std::move(function));
  return reinterpret_cast<PyObject*>(self);
}

// make_plan(resources, key, max_retries, returns, generator, timeout, item_budget)
PyObject* make_plan(PyObject*, PyObject* args) {
  PyObject* resources = nullptr;
  unsigned int key = 0;
  int max_retries = 0;
  int returns = 1;
  int generator = 0;
  double timeout = 0;
  unsigned long long budget = 0;
  if (!PyArg_ParseTuple(args, "O!IiipdK", &PyDict_Type, &resources, &key, &max_retries, &returns, &generator, &timeout,
                        &budget)) {
    return nullptr;
  }
  auto options = std::make_unique<client::TaskOptions>();
  options->key = key;
  options->max_retries = max_retries;
  options->returns = static_cast<std::uint16_t>(returns);
  options->generator = generator != 0;
  Py_ssize_t position = 0;
  PyObject *name = nullptr, *amount = nullptr;
  while (PyDict_Next(resources, &position, &name, &amount)) {
    const char* text = PyUnicode_AsUTF8(name);
    double number = PyFloat_AsDouble(amount);
    if (text == nullptr || PyErr_Occurred()) return nullptr;
    Status set = options->resources.set(text, number);
    if (!set.is_ok()) {
      raise_status(set);
      return nullptr;
    }
  }
  auto* self = PyObject_New(PythonPlan, plan_type);
  if (self == nullptr) return nullptr;
  self->options = options.release();
  self->timeout_seconds = timeout;
  self->item_budget_bytes = budget;
  return reinterpret_cast<PyObject*>(self);
}

// Builds one task's frame.
class CallBuilder {
 public:
  CallBuilder(PythonClient* owner, const std::shared_ptr<client::Function>& function) : owner_(owner) {
    task_ = std::make_unique<client::Task>();
    task_->function = function;
  }
  ~CallBuilder() {
    if (!task_ || !task_->extra) return;
    for (client::ArgumentPart& part : task_->extra->parts) owner_->client->release(part.object);
    for (client::Object* held : task_->extra->held) owner_->client->release(held);
  }

  void begin(const PythonPlan& plan, Py_ssize_t positional, Py_ssize_t keywords) {
    wire::TaskHead head;
    head.function = task_->function->id;
    head.timeout_seconds = plan.timeout_seconds;
    head.returns = plan.options->returns;
    head.positional = static_cast<std::uint16_t>(positional);
    head.keywords = static_cast<std::uint16_t>(keywords);
    std::string_view name(task_->function->name);
    name = name.substr(0, 120);
    head.name_bytes = static_cast<std::uint16_t>(name.size());
    head.generator = plan.options->generator ? 1 : 0;
    head.item_budget_bytes = plan.item_budget_bytes;
    std::string& out = task_->frame;
    out.reserve(160);
    wire::begin_frame(out, wire::DirectType::kTask, 0);
    wire::ByteWriter writer(out);
    writer.put(head);
    writer.put_raw(name);
  }

  bool keyword(PyObject* name) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name, &size);
    if (text == nullptr) return false;
    wire::ByteWriter(task_->frame).put_string({text, static_cast<std::size_t>(size)});
    return true;
  }

  bool argument(PyObject* value, const char* what) {
    if (is_ref(value)) return add_ref(as_ref(value));
    Encoded encoded;
    if (!encoded.encode(owner_, value, what)) return false;
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

  client::Call finish(const client::TaskOptions& options) { return {std::move(task_), options}; }

 private:
  client::Task::Extra& extra() {
    if (!task_->extra) task_->extra = std::make_unique<client::Task::Extra>();
    return *task_->extra;
  }

  bool add_ref(PythonRef* ref) {
    if (ref->owner != owner_) {
      static PyObject* error = nullptr;
      if (imported(&error, "fray.errors", "ForeignRefError") == nullptr) return false;
      PyErr_SetString(error, "an argument is a ref of another context; get its value there and pass that");
      return false;
    }
    client::retain(ref->object);
    if (ref->object->stream) owner_->client->lift_item_limit(ref->object);
    add_object(ref->object);
    return true;
  }

  void add_object(client::Object* object) {
    extra().parts.push_back({std::move(task_->frame), object});
    task_->frame.clear();
  }

  PythonClient* owner_;
  std::unique_ptr<client::Task> task_;
};

// submit(client, function, plan, args, kwargs) -> ref, or list of refs
PyObject* submit(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 5 || Py_TYPE(args[1]) != function_type || Py_TYPE(args[2]) != plan_type || !PyTuple_Check(args[3])) {
    PyErr_SetString(PyExc_TypeError, "submit(client, function, plan, args, kwargs)");
    return nullptr;
  }
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr) return nullptr;
  const auto& function = *reinterpret_cast<PythonFunction*>(args[1])->function;
  auto* plan = reinterpret_cast<PythonPlan*>(args[2]);
  PyObject* keywords = args[4];
  Py_ssize_t keyword_count = keywords == Py_None ? 0 : PyDict_GET_SIZE(keywords);
  Py_ssize_t positional = PyTuple_GET_SIZE(args[3]);
  if (positional > 60'000 || keyword_count > 60'000) {
    PyErr_SetString(PyExc_ValueError, "a task takes at most 60000 arguments; pass a list");
    return nullptr;
  }

  CallBuilder builder(owner, function);
  builder.begin(*plan, positional, keyword_count);
  for (Py_ssize_t i = 0; i < positional; ++i) {
    std::string what;
    PyObject* value = PyTuple_GET_ITEM(args[3], i);
    char text[32];
    std::snprintf(text, sizeof(text), "argument %zd", i);
    if (!builder.argument(value, text)) return nullptr;
  }
  if (keyword_count > 0) {
    Py_ssize_t position = 0;
    PyObject *name = nullptr, *value = nullptr;
    while (PyDict_Next(keywords, &position, &name, &value)) {
      if (!builder.keyword(name)) return nullptr;
      if (!builder.argument(value, PyUnicode_AsUTF8(name))) return nullptr;
    }
  }
  auto results = owner->client->submit(builder.finish(*plan->options));
  if (!results.is_ok()) {
    raise_status(results.status());
    return nullptr;
  }
  if (results->size() == 1) return new_ref(owner, results->front());
  Owned list(PyList_New(static_cast<Py_ssize_t>(results->size())));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < results->size(); ++i) {
    PyObject* ref = new_ref(owner, (*results)[i]);
    if (ref == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), ref);
  }
  return list.release();
}

// put(client, value) -> ref
PyObject* put(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "put(client, value)");
    return nullptr;
  }
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr) return nullptr;
  Encoded encoded;
  if (!encoded.encode(owner, args[1], "the value")) return nullptr;
  client::Object* object = nullptr;
  if (encoded.is_large()) {
    object = encoded.store(owner);
    if (object == nullptr) return nullptr;
  } else {
    object = owner->client->put_inline(encoded.encoding(), encoded.take_inline_bytes(), encoded.take_nested());
  }
  return new_ref(owner, object);
}

PyMethodDef call_functions[] = {
    {"make_function", make_function, METH_VARARGS, "make_function(kind, payload, name, max_calls) -> Function"},
    {"make_plan", make_plan, METH_VARARGS,
     "make_plan(resources, key, max_retries, returns, generator, timeout, item_budget) -> Plan"},
    {"submit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(submit)), METH_FASTCALL,
     "submit(client, function, plan, args, kwargs) -> ref or list of refs"},
    {"put", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(put)), METH_FASTCALL,
     "put(client, value) -> ref"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int add_calls(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  plan_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&plan_spec));
  if (function_type == nullptr || plan_type == nullptr) return -1;
  return PyModule_AddFunctions(module, call_functions);
}

}  // namespace fray::python
