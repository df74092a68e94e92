// Functions and calls: a callable made known to workers, and the submission of a task.
//
// Threading:  any thread with the GIL.
// Ownership:  a Function is shared by Python and by the tasks that call it.
// Failure:    the error for a value that cannot be pickled names its path; nothing is submitted then.
#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#define XXH_INLINE_ALL  // header only, so that no library has to be shipped
#include <xxhash.h>

#include "client/call.h"
#include "functions.h"
#include "wire/function_payload.h"

namespace fray::python {

PyTypeObject* function_type = nullptr;
PyTypeObject* plan_type = nullptr;

namespace {

void function_dealloc(PyObject* self) {
  delete reinterpret_cast<PythonFunction*>(self)->function;
  Py_XDECREF(reinterpret_cast<PythonFunction*>(self)->object);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// sys.getsizeof(function): the size with everything that it holds.
PyObject* function_sizeof(PyObject* self, PyObject*) {
  const client::Function& function = **reinterpret_cast<PythonFunction*>(self)->function;
  return PyLong_FromSize_t(sizeof(PythonFunction) + sizeof(client::Function) + function.name.size() +
                           wire::function_bytes(*function.payload));
}

// `object`: a ref, or null.
PythonFunction* new_function(std::shared_ptr<client::Function> function, Owned object) {
  auto* self = PyObject_New(PythonFunction, function_type);
  if (self == nullptr) return nullptr;
  function->object = object ? as_ref(object.get())->object : nullptr;
  self->function = new std::shared_ptr<client::Function>(std::move(function));
  self->object = object.release();
  return self;
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
PyType_Spec function_spec{PythonFunction::kTypeName, sizeof(PythonFunction), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};
PyType_Slot plan_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plan_dealloc)}, {0, nullptr}};
PyType_Spec plan_spec{PythonPlan::kTypeName, sizeof(PythonPlan), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, plan_slots};

// Returns the payload with this id if one is in use, else `payload`. So a function that is pickled for every call, such
// as a method of a large object, is held once for all of its calls. Guarded by the GIL.
std::shared_ptr<const std::string> shared_payload(std::uint64_t id, std::string payload) {
  // Never destroyed: the interpreter may still be used when static objects are.
  static auto& in_use = *new std::unordered_map<std::uint64_t, std::weak_ptr<const std::string>>;
  static std::size_t sweep_at = 256;
  std::weak_ptr<const std::string>& known = in_use[id];
  std::shared_ptr<const std::string> found = known.lock();
  if (found != nullptr && *found == payload) return found;
  found.reset(new std::string(std::move(payload)));  // not make_shared: a weak pointer would keep the memory
  known = found;
  if (in_use.size() >= sweep_at) {
    std::erase_if(in_use, [](const auto& entry) { return entry.second.expired(); });
    sweep_at = std::max<std::size_t>(256, 2 * in_use.size());
  }
  return found;
}

std::shared_ptr<client::Function> function_of(wire::FunctionKind kind, std::string_view content, std::string name,
                                              int max_calls) {
  auto function = std::make_shared<client::Function>();
  function->name = std::move(name);
  std::string whole = wire::function_payload(kind, static_cast<std::uint32_t>(std::max(max_calls, 0)), content);
  function->id = XXH3_64bits(whole.data(), whole.size()) | 1;  // 0 means none
  function->payload = shared_payload(function->id, std::move(whole));
  return function;
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

// The refs of a task that was submitted just now. Where a signal has come meanwhile whose handler raises, the caller gets
// no ref, so nobody could cancel the task: it is cancelled here.
PyObject* refs_of(PythonClient* owner, CallBuilder& builder, const std::vector<client::Object*>& results) {
  Owned refs(builder.refs(results));
  if (!refs || !signal_raised()) return refs.release();
  owner->client->tasks().cancel(results.front(), false, false);
  return nullptr;
}

// submit(client, function, plan, args, kwargs) -> ref, or list of refs
PyObject* submit(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes("submit", 5, count) || !is_call(args[1], args[2], args[3])) return nullptr;
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  const auto& function = *reinterpret_cast<PythonFunction*>(args[1])->function;
  auto* plan = reinterpret_cast<PythonPlan*>(args[2]);
  CallBuilder builder(owner, function, "submit");
  if (!builder.build(*plan, function->name, args[3], args[4])) return nullptr;
  auto results = owner->client->tasks().submit(builder.finish(), *plan->options);
  if (results.is_ok()) return refs_of(owner, builder, *results);
  raise_status(results.status());
  return nullptr;
}

// put(client, value) -> ref
PyObject* put(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes("put", 2, count)) return nullptr;
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

// Without nanobind: every task and every value that is put passes through these functions.
PyMethodDef call_functions[] = {
    {"submit", fast(submit), METH_FASTCALL,
     "submit(client: Client, function: Function, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> "
     "Any\n"
     "\nThe ref of the task's result, or a list of refs."},
    {"put", fast(put), METH_FASTCALL, "put(client: Client, value: Any) -> Any\n\nThe ref of the value."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_call(PyObject* function, PyObject* plan, PyObject* args) {
  const bool fits = PythonFunction::is(function) && PythonPlan::is(plan) && PyTuple_Check(args);
  if (!fits) {
    PyErr_Format(PyExc_TypeError, "a Function, a Plan and a tuple of arguments are needed, got %s, %s and %s",
                 Py_TYPE(function)->tp_name, Py_TYPE(plan)->tp_name, Py_TYPE(args)->tp_name);
  }
  return fits;
}

PythonFunction* make_function(wire::FunctionKind kind, BytesView payload, std::string name, int max_calls) {
  return new_function(function_of(kind, payload.bytes, std::move(name), max_calls), Owned());
}

PythonFunction* store_function(PythonClient* client, WholeBytes pickle, List buffers, std::string name, int max_calls) {
  if (!check_open(client)) return nullptr;
  Encoded encoded;
  if (!encoded.take_pickle(client, pickle, buffers)) return nullptr;
  client::Object* object = encoded.store(client);
  Owned ref(object == nullptr ? nullptr : new_ref(client, object));
  if (!ref) return nullptr;
  wire::ValueView value;
  value.encoding = object->encoding;
  value.kind = wire::ValueKind::kSealed;
  value.object = object->id;
  value.location = object->detail->location;
  std::string content;
  wire::ByteWriter out(content);
  wire::encode(out, value);
  return new_function(function_of(wire::FunctionKind::kStored, content, std::move(name), max_calls), std::move(ref));
}

PythonFunction* make_same_function(PythonFunction* known, std::string name, bool is_carried) {
  auto function = std::make_shared<client::Function>();
  function->id = (*known->function)->id;
  function->payload = (*known->function)->payload;
  function->name = std::move(name);
  function->is_carried = is_carried;
  return new_function(std::move(function), Owned(Py_XNewRef(known->object)));
}

PythonPlan* make_plan(Dict shape, int max_retries, int returns, bool generator, double timeout,
                      std::uint32_t item_budget, std::uint32_t most_items) {
  if (returns < 1 || returns > std::numeric_limits<std::uint16_t>::max()) {
    PyErr_Format(PyExc_ValueError, "a task has 1 to 65535 results, not %d", returns);
    return nullptr;
  }
  auto options = std::make_unique<client::TaskOptions>();
  if (!read_shape(shape, &options->shape)) return nullptr;
  options->max_retries = max_retries;
  options->returns = static_cast<std::uint16_t>(returns);
  options->generator = generator;
  auto* self = PyObject_New(PythonPlan, plan_type);
  if (self == nullptr) return nullptr;
  self->options = options.release();
  self->shape = Py_NewRef(shape);
  self->timeout_seconds = timeout;
  self->item_budget_bytes = item_budget;
  self->most_items = most_items;
  return self;
}

Answer<Nothing> set_aside(PythonClient* client, std::string name, Dict resources, Dict offered, std::string about,
                          bool detached) {
  if (!check_open(client)) return Raised();
  wire::SetAside message{.name = std::move(name), .about = std::move(about), .detached = detached};
  if (!read_field(resources, "resources", &message.resources)) return Raised();
  if (!read_field(offered, "offered", &message.offered)) return Raised();
  client->client->tasks().set_aside(message);
  return Nothing();
}

Answer<Nothing> put_back(PythonClient* client, std::string name) {
  if (!check_open(client)) return Raised();
  client->client->tasks().put_back(name);
  return Nothing();
}

int add_calls(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  plan_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&plan_spec));
  if (function_type == nullptr || plan_type == nullptr) return -1;
  if (PyModule_AddType(module, function_type) != 0 || PyModule_AddType(module, plan_type) != 0) return -1;
  return PyModule_AddFunctions(module, call_functions);
}

}  // namespace fray::python
