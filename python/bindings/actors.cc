// Actors from the caller's side: creating, finding, calling, killing.
//
// An actor is known by the ref to its object; fray.backend.native.actors wraps it.
//
// Threading:  any thread with the GIL, which waits for the node release.
// Ownership:  Python owns the refs.
// Failure:    errors of the engine become the exceptions of fray.errors.
#include "call_builder.h"
#include "client/call.h"
#include "wire/function_payload.h"

namespace fray::python {

namespace {

// None when the status is `none`: it is for Python to say in which words.
PyObject* found_actor(PythonClient* owner, Result<client::FoundActor> found, StatusCode none) {
  if (!found.is_ok()) {
    if (found.status().code() == none) Py_RETURN_NONE;
    if (PyErr_Occurred() == nullptr) raise_status(found.status());
    return nullptr;
  }
  PyObject* ref = new_ref(owner, found->object);
  if (ref == nullptr) return nullptr;
  return Py_BuildValue("Ny#", ref, found->description.data(), static_cast<Py_ssize_t>(found->description.size()));
}

// create_actor(client, class, plan, args, kwargs, namespace, class_name, name, get_if_exists, detached, max_restarts,
//              event_loop, description, settings) -> (ref, description of the one that exists, or empty);
// None: the name is taken
PyObject* create_actor(PyObject*, PyObject* args) {
  PyObject *client_object = nullptr, *function_object = nullptr, *plan_object = nullptr, *positional = nullptr,
           *keywords = nullptr;
  const char *name_space = nullptr, *name = nullptr, *class_name = nullptr, *description = nullptr, *settings = nullptr;
  Py_ssize_t description_size = 0, settings_size = 0;
  int get_if_exists = 0, detached = 0, max_restarts = 0, event_loop = 0;
  if (!PyArg_ParseTuple(args, "OOOO!Osszppipy#y#", &client_object, &function_object, &plan_object, &PyTuple_Type,
                        &positional, &keywords, &name_space, &class_name, &name, &get_if_exists, &detached,
                        &max_restarts, &event_loop, &description, &description_size, &settings, &settings_size)) {
    return nullptr;
  }
  PythonClient* owner = as_client(client_object);
  PythonFunction* function = owner == nullptr ? nullptr : as_function(function_object);
  PythonPlan* plan = function == nullptr ? nullptr : as_plan(plan_object);
  if (plan == nullptr || !check_open(owner)) return nullptr;
  CallBuilder builder(owner, *function->function, "create");
  if (!builder.build(*plan, (*function->function)->name, positional, keywords)) return nullptr;
  client::ActorRequest request;
  request.name_space = name_space;
  if (name != nullptr) request.name = name;
  request.get_if_exists = get_if_exists != 0;
  request.detached = detached != 0;
  request.max_restarts = max_restarts;
  request.event_loop = event_loop != 0;
  request.class_name = class_name;
  request.description.assign(description, static_cast<std::size_t>(description_size));
  request.settings.assign(settings, static_cast<std::size_t>(settings_size));
  request.constructor = {builder.finish(), *plan->options};
  GilHooks hooks(owner);
  return found_actor(owner, owner->client->actors().create_actor(std::move(request), hooks),
                     StatusCode::kAlreadyExists);
}

// find_actor(client, namespace, name) -> (ref, description), or None
PyObject* find_actor(PyObject*, PyObject* args) {
  PyObject* client_object = nullptr;
  const char *name_space = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(args, "Oss", &client_object, &name_space, &name)) return nullptr;
  PythonClient* owner = as_client(client_object);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  GilHooks hooks(owner);
  return found_actor(owner, owner->client->actors().find_actor(name_space, name, hooks), StatusCode::kNotFound);
}

// list_actors(client) -> [(namespace, name)]
PyObject* list_actors(PyObject*, PyObject* client_object) {
  PythonClient* owner = as_client(client_object);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  GilHooks hooks(owner);
  Result<wire::ActorNames> names = owner->client->actors().list_actors(hooks);
  if (!names.is_ok()) {
    if (PyErr_Occurred() == nullptr) raise_status(names.status());
    return nullptr;
  }
  Owned list(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& [name_space, name] : names->names) {
    Owned row(Py_BuildValue("ss", name_space.c_str(), name.c_str()));
    if (!row || PyList_Append(list.get(), row.get()) != 0) return nullptr;
  }
  return list.release();
}

bool is_ref_of(PyObject* object, PythonClient* owner) {
  if (is_ref(object) && as_ref(object)->owner == owner) return true;
  PyErr_SetString(PyExc_TypeError, "an actor of this client is needed");
  return false;
}

// call_actor(client, actor, method, plan, args, kwargs, max_pending) -> ref, or list of refs
PyObject* call_actor(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 7 || Py_TYPE(args[2]) != function_type || Py_TYPE(args[3]) != plan_type || !PyTuple_Check(args[4])) {
    PyErr_SetString(PyExc_TypeError, "call_actor(client, actor, method, plan, args, kwargs, max_pending)");
    return nullptr;
  }
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !is_ref_of(args[1], owner) || !check_open(owner)) return nullptr;
  const auto& method = *reinterpret_cast<PythonFunction*>(args[2])->function;
  auto* plan = reinterpret_cast<PythonPlan*>(args[3]);
  const long long most_pending = PyLong_AsLongLong(args[6]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  CallBuilder builder(owner, method, "call");
  if (!builder.build(*plan, std::string_view(*method->payload).substr(wire::kPayloadPrefix), args[4], args[5]))
    return nullptr;
  auto results =
      owner->client->actors().call_actor(as_ref(args[1])->object, {builder.finish(), *plan->options}, most_pending);
  if (results.is_ok()) return builder.refs(*results);
  static PyObject* limit_error = nullptr;
  if (results.status().code() != StatusCode::kResourceExhausted) {
    raise_status(results.status());
  } else if (imported(&limit_error, "fray.errors", "PendingCallsLimitError") != nullptr) {
    PyErr_SetString(limit_error, results.status().message().c_str());
  }
  return nullptr;
}

// kill_actor(actor, no_restart)
PyObject* kill_actor(PyObject*, PyObject* args) {
  PyObject* actor = nullptr;
  int no_restart = 1;
  if (!PyArg_ParseTuple(args, "Op", &actor, &no_restart)) return nullptr;
  if (!is_ref(actor)) return PyErr_Format(PyExc_TypeError, "an actor is needed");
  PythonRef* ref = as_ref(actor);
  if (!check_open(ref->owner)) return nullptr;
  GilHooks hooks(ref->owner);
  Status killed = ref->owner->client->actors().kill_actor(ref->object, no_restart != 0, hooks);
  if (killed.is_ok()) Py_RETURN_NONE;
  if (PyErr_Occurred() == nullptr) raise_status(killed);
  return nullptr;
}

PyMethodDef actor_functions[] = {
    {"create_actor", create_actor, METH_VARARGS,
     "create_actor(client, class, plan, args, kwargs, namespace, class_name, name, get_if_exists, detached,\n"
     "             max_restarts, event_loop, description, settings) -> (ref, description) or None"},
    {"find_actor", find_actor, METH_VARARGS, "find_actor(client, namespace, name) -> (ref, description) or None"},
    {"list_actors", list_actors, METH_O, "list_actors(client) -> [(namespace, name)]"},
    {"call_actor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_actor)), METH_FASTCALL,
     "call_actor(client, actor, method, plan, args, kwargs, max_pending) -> ref or list of refs"},
    {"kill_actor", kill_actor, METH_VARARGS, "kill_actor(actor, no_restart)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int add_actors(PyObject* module) { return PyModule_AddFunctions(module, actor_functions); }

}  // namespace fray::python
