// Functions and calls: a callable made known to workers, and the submission of a task.
//
// Threading:  any thread with the GIL.
// Ownership:  a Function is shared by Python and by the tasks that call it.
// Failure:    what cannot be pickled is named with its place; nothing is submitted then.
#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#define XXH_INLINE_ALL  // no library to carry along
#include <xxhash.h>

#include "call_builder.h"
#include "client/call.h"
#include "wire/function_payload.h"

namespace fray::python {

PyTypeObject* function_type = nullptr;
PyTypeObject* plan_type = nullptr;

PythonFunction* as_function(PyObject* object) {
  if (Py_TYPE(object) == function_type) return reinterpret_cast<PythonFunction*>(object);
  PyErr_Format(PyExc_TypeError, "a Function is needed, got %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

PythonPlan* as_plan(PyObject* object) {
  if (Py_TYPE(object) == plan_type) return reinterpret_cast<PythonPlan*>(object);
  PyErr_Format(PyExc_TypeError, "a Plan is needed, got %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

namespace {

void function_dealloc(PyObject* self) {
  delete reinterpret_cast<PythonFunction*>(self)->function;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// sys.getsizeof(function): with what it holds.
PyObject* function_sizeof(PyObject* self, PyObject*) {
  const client::Function& function = **reinterpret_cast<PythonFunction*>(self)->function;
  return PyLong_FromSize_t(sizeof(PythonFunction) + sizeof(client::Function) + function.name.size() +
                           function.payload->size());
}

PyMethodDef function_methods[] = {{"__sizeof__", function_sizeof, METH_NOARGS, "Bytes, with those of the payload."},
                                  {nullptr, nullptr, 0, nullptr}};

void plan_dealloc(PyObject* self) {
  delete reinterpret_cast<PythonPlan*>(self)->options;
  Py_DECREF(reinterpret_cast<PythonPlan*>(self)->shape);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot function_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)}, {Py_tp_methods, function_methods}, {0, nullptr}};
PyType_Spec function_spec{"fray._native.Function", sizeof(PythonFunction), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};
PyType_Slot plan_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plan_dealloc)}, {0, nullptr}};
PyType_Spec plan_spec{"fray._native.Plan", sizeof(PythonPlan), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, plan_slots};

// The payload of this id that is in use, or else `payload`: a function that is pickled for every call, such as a method of
// a large object, is held once for all of its calls. Guarded by the GIL.
std::shared_ptr<const std::string> shared_payload(std::uint64_t id, std::string payload) {
  // Never destroyed: the interpreter may still be used when static objects are.
  static auto& in_use = *new std::unordered_map<std::uint64_t, std::weak_ptr<const std::string>>;
  static std::size_t sweep_at = 256;
  std::weak_ptr<const std::string>& known = in_use[id];
  std::shared_ptr<const std::string> found = known.lock();
  if (found != nullptr && *found == payload) return found;
  found.reset(new std::string(std::move(payload)));  // not make_shared: a weak pointer would keep the text's memory
  known = found;
  if (in_use.size() >= sweep_at) {
    std::erase_if(in_use, [](const auto& entry) { return entry.second.expired(); });
    sweep_at = std::max<std::size_t>(256, 2 * in_use.size());
  }
  return found;
}

// make_function(kind, payload, name, max_calls): `kind` is a FunctionKind.
PyObject* make_function(PyObject*, PyObject* args) {
  int kind = 0;
  const char* payload = nullptr;
  Py_ssize_t payload_size = 0;
  const char* name = nullptr;
  int most = 0;  // "I" would cut what does not fit
  if (!PyArg_ParseTuple(args, "iy#si", &kind, &payload, &payload_size, &name, &most)) return nullptr;
  const auto max_calls = static_cast<std::uint32_t>(std::max(most, 0));
  auto function = std::make_shared<client::Function>();
  function->name = name;
  std::string whole = wire::function_payload(static_cast<wire::FunctionKind>(kind), max_calls,
                                             {payload, static_cast<std::size_t>(payload_size)});
  function->id = XXH3_64bits(whole.data(), whole.size()) | 1;  // 0 means none
  function->payload = shared_payload(function->id, std::move(whole));
  auto* self = PyObject_New(PythonFunction, function_type);
  if (self == nullptr) return nullptr;
  self->function = new std::shared_ptr<client::Function>(std::move(function));
  return reinterpret_cast<PyObject*>(self);
}

// Reads the amounts of a dict; false with a Python exception set.
bool read_field(PyObject* value, const char*, ResourceSet* resources) {
  Py_ssize_t position = 0;
  PyObject *name = nullptr, *amount = nullptr;
  while (PyDict_Next(value, &position, &name, &amount)) {
    const char* text = PyUnicode_AsUTF8(name);
    double number = PyFloat_AsDouble(amount);
    if (text == nullptr || PyErr_Occurred()) return false;
    Status set = resources->set(text, number);
    if (set.is_ok()) continue;
    raise_status(set);
    return false;
  }
  return true;
}

template <typename Number>
bool read_field(PyObject* value, const char* name, Number* number) {
  const long long given = PyLong_AsLongLong(value);
  if (given == -1 && PyErr_Occurred() != nullptr) return false;
  *number = static_cast<Number>(given);
  if (std::in_range<Number>(given)) return true;
  PyErr_Format(PyExc_OverflowError, "%s does not fit: %lld", name, given);
  return false;
}

// What TaskOptions.shape() and ActorOptions.shape() give, with a worker key.
bool read_shape(PyObject* given, WorkShape* shape) {
  bool good = true;
  WorkShape::visit(*shape, [&](const char* name, auto& field) {
    PyObject* value = good ? PyDict_GetItemString(given, name) : nullptr;  // borrowed
    if (value != nullptr) good = read_field(value, name, &field);
  });
  return good;
}

// make_plan(shape, max_retries, returns, generator, timeout, item_budget)
PyObject* make_plan(PyObject*, PyObject* args) {
  PyObject* shape = nullptr;
  int max_retries = 0;
  int returns = 1;
  int generator = 0;
  double timeout = 0;
  unsigned long long budget = 0;
  if (!PyArg_ParseTuple(args, "O!iipdK", &PyDict_Type, &shape, &max_retries, &returns, &generator, &timeout, &budget)) {
    return nullptr;
  }
  if (returns < 1 || returns > std::numeric_limits<std::uint16_t>::max()) {
    return PyErr_Format(PyExc_ValueError, "a task has 1 to 65535 results, not %d", returns);
  }
  auto options = std::make_unique<client::TaskOptions>();
  if (!read_shape(shape, &options->shape)) return nullptr;
  options->max_retries = max_retries;
  options->returns = static_cast<std::uint16_t>(returns);
  options->generator = generator != 0;
  auto* self = PyObject_New(PythonPlan, plan_type);
  if (self == nullptr) return nullptr;
  self->options = options.release();
  self->shape = Py_NewRef(shape);
  self->timeout_seconds = timeout;
  self->item_budget_bytes = budget;
  return reinterpret_cast<PyObject*>(self);
}

// submit(client, function, plan, args, kwargs) -> ref, or list of refs
PyObject* submit(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 5 || Py_TYPE(args[1]) != function_type || Py_TYPE(args[2]) != plan_type || !PyTuple_Check(args[3])) {
    PyErr_SetString(PyExc_TypeError, "submit(client, function, plan, args, kwargs)");
    return nullptr;
  }
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  const auto& function = *reinterpret_cast<PythonFunction*>(args[1])->function;
  auto* plan = reinterpret_cast<PythonPlan*>(args[2]);
  CallBuilder builder(owner, function, "submit");
  if (!builder.build(*plan, function->name, args[3], args[4])) return nullptr;
  auto results = owner->client->tasks().submit(builder.finish(), *plan->options);
  if (results.is_ok()) return builder.refs(*results);
  raise_status(results.status());
  return nullptr;
}

// put(client, value) -> ref
PyObject* put(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "put(client, value)");
    return nullptr;
  }
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  Encoded encoded;
  if (!encoded.encode(owner, args[1], "the value")) return nullptr;
  client::Object* object = nullptr;
  if (encoded.is_large()) {
    object = encoded.store(owner);
    if (object == nullptr) return nullptr;
  } else {
    object =
        owner->client->objects().put_inline(encoded.encoding(), encoded.take_inline_bytes(), encoded.take_nested());
  }
  return new_ref(owner, object);
}

PyMethodDef call_functions[] = {
    {"make_function", make_function, METH_VARARGS, "make_function(kind, payload, name, max_calls) -> Function"},
    {"make_plan", make_plan, METH_VARARGS,
     "make_plan(shape, max_retries, returns, generator, timeout, item_budget) -> Plan"},
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
  if (PyModule_AddType(module, function_type) != 0 || PyModule_AddType(module, plan_type) != 0) return -1;
  return PyModule_AddFunctions(module, call_functions);
}

}  // namespace fray::python
