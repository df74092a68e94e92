// Actors from the caller's side: creating, finding, calling, killing.
//
// An actor is known by the ref to its object; fray.backend.native.actors wraps it.
//
// Threading:  any thread with the GIL, which is released while it waits for the node.
// Ownership:  Python owns the refs.
// Failure:    errors of the engine become the exceptions of fray.errors.
#include "client/call.h"
#include "functions.h"
#include "wire/function_payload.h"

namespace fray::python {

namespace {

// Returns None when the status is `none`, for which Python raises its own error.
Answer<ActorFound> found_actor(PythonClient* owner, Result<client::FoundActor> found, StatusCode none) {
  if (!found.is_ok()) {
    if (found.status().code() == none) return ActorFound();
    if (PyErr_Occurred() == nullptr) raise_status(found.status());
    return Raised();
  }
  Owned ref(new_ref(owner, found->object));
  if (!ref) return Raised();
  return ActorFound(std::in_place, std::move(ref), Bytes{std::move(found->description)});
}

bool is_ref_of(PyObject* object, PythonClient* owner) {
  if (is_ref(object) && as_ref(object)->owner == owner) return true;
  PyErr_SetString(PyExc_TypeError, "an actor of this client is needed");
  return false;
}

// call_actor(client, actor, method, plan, args, kwargs, max_pending) -> ref, or list of refs
PyObject* call_actor(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes("call_actor", 7, count) || !is_call(args[2], args[3], args[4])) return nullptr;
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

// Without nanobind: every call of an actor passes through this function.
PyMethodDef actor_functions[] = {
    {"call_actor", fast(call_actor), METH_FASTCALL,
     "call_actor(client: Client, actor: Any, method: Function, plan: Plan, args: tuple[Any, ...],\n"
     "           kwargs: dict[str, Any] | None, max_pending: int) -> Any\n\nThe ref of its result, or a list of refs."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Answer<ActorFound> create_actor(PythonClient* client, PythonFunction* cls, PythonPlan* plan, Positional args,
                                DictOrNone kwargs, std::string name_space, std::string class_name,
                                std::optional<std::string> name, bool get_if_exists, bool detached, int max_restarts,
                                bool event_loop, BytesView description, BytesView settings) {
  if (!check_open(client)) return Raised();
  CallBuilder builder(client, *cls->function, "create");
  if (!builder.build(*plan, (*cls->function)->name, args, kwargs)) return Raised();
  client::ActorRequest request;
  request.name_space = std::move(name_space);
  if (name) request.name = std::move(*name);
  request.get_if_exists = get_if_exists;
  request.detached = detached;
  request.max_restarts = max_restarts;
  request.event_loop = event_loop;
  request.class_name = std::move(class_name);
  request.description = description.bytes;
  request.settings = settings.bytes;
  request.constructor = {builder.finish(), *plan->options};
  GilHooks hooks(client);
  return found_actor(client, client->client->actors().create_actor(std::move(request), hooks),
                     StatusCode::kAlreadyExists);
}

Answer<ActorFound> find_actor(PythonClient* client, std::string name_space, std::string name) {
  if (!check_open(client)) return Raised();
  GilHooks hooks(client);
  const wire::FindActor wanted{.name_space = std::move(name_space), .name = std::move(name), .actor = {}};
  return found_actor(client, client->client->actors().find_actor(wanted, hooks), StatusCode::kNotFound);
}

Answer<ActorFound> find_actor_by_id(PythonClient* client, std::uint32_t epoch, ProcessId owner,
                                    std::uint64_t sequence) {
  if (!check_open(client)) return Raised();
  GilHooks hooks(client);
  const wire::FindActor wanted{.name_space = {}, .name = {}, .actor = {epoch, owner, sequence}};
  return found_actor(client, client->client->actors().find_actor(wanted, hooks), StatusCode::kNotFound);
}

Answer<std::vector<std::pair<std::string, std::string>>> list_actors(PythonClient* client) {
  if (!check_open(client)) return Raised();
  GilHooks hooks(client);
  Result<wire::ActorNames> names = client->client->actors().list_actors(hooks);
  if (names.is_ok()) return std::move(names->names);
  if (PyErr_Occurred() == nullptr) raise_status(names.status());
  return Raised();
}

Answer<Nothing> kill_actor(PythonRef* actor, bool no_restart) {
  if (!check_open(actor->owner)) return Raised();
  GilHooks hooks(actor->owner);
  Status killed = actor->owner->client->actors().kill_actor(actor->object, no_restart, hooks);
  if (killed.is_ok()) return Nothing();
  if (PyErr_Occurred() == nullptr) raise_status(killed);
  return Raised();
}

int add_actors(PyObject* module) { return PyModule_AddFunctions(module, actor_functions); }

}  // namespace fray::python
