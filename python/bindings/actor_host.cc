#include "actor_host.h"

#include <unordered_map>

#include "call_runner.h"
#include "first_step.h"
#include "wire/function_payload.h"
#include "worker/actor_loop.h"

namespace fray::python {

namespace {

using wire::TaskStatus;
using worker::ActorCall;

struct Host {
  Host(PythonClient* client, PyObject* support_module, wire::HostActor message,
       std::unique_ptr<worker::MappedPage> shared)
      : owner(client), actor(std::move(message)), page(std::move(shared)), runner(client, support_module) {}

  PythonClient* owner;
  wire::HostActor actor;
  std::unique_ptr<worker::MappedPage> page;
  CallRunner runner;
  std::unique_ptr<worker::ActorLoop> loop;
  PyObject* instance = nullptr;
  std::unordered_map<std::uint64_t, PyObject*> methods;  // bound, by the hash of the name
};

struct PythonActorHost {
  PyObject_HEAD Host* host;
};
PyTypeObject* host_type = nullptr;

// The call that this thread runs; null between calls, and on an event loop.
struct RunningCall {
  Host* host = nullptr;
  ActorCall* call = nullptr;
};
thread_local RunningCall running_call;

constexpr std::uint64_t kLongestTakeNs = 1'000'000;  // then the event loop has other things to do

Host* as_host(PyObject* self) { return reinterpret_cast<PythonActorHost*>(self)->host; }

void host_dealloc(PyObject* self) {
  // The process ends with it; what the user's objects refer to is not taken down.
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// ---- The constructor ----

wire::ConstructorView constructor_of(const Host& host) { return wire::ConstructorView::of(host.actor.constructor); }

PyObject* host_settings(PyObject* self, PyObject*) {
  std::string_view settings = constructor_of(*as_host(self)).settings;
  return PyBytes_FromStringAndSize(settings.data(), static_cast<Py_ssize_t>(settings.size()));
}

PyObject* host_cpus(PyObject* self, PyObject*) { return PyFloat_FromDouble(as_host(self)->actor.cpus); }

PyObject* host_self_ref(PyObject* self, PyObject*) {
  Host& host = *as_host(self);
  ObjectId id = host.actor.actor;
  return new_ref(host.owner, host.owner->client->objects().adopt({&id, 1}).front());
}

// open(name, mode, places): from now on calls are kept; `name` stands before the methods' names. `mode`: an
// ActorMode. `places`: calls that run at once.
PyObject* host_open(PyObject* self, PyObject* args) {
  Host& host = *as_host(self);
  const char* text = nullptr;
  int mode = 0;
  unsigned int places = 1;
  if (!PyArg_ParseTuple(args, "siI", &text, &mode, &places)) return nullptr;
  const auto kind = static_cast<worker::ActorLoop::Mode>(mode);
  host.owner->client->actors().become_actor(host.actor.actor, places);
  host.loop = std::make_unique<worker::ActorLoop>(*host.owner->client, *host.page, text);
  host.loop->set_mode(kind);
  host.owner->duty = host.loop.get();
  PyThreadState* state = PyEval_SaveThread();
  host.owner->client->set_duty(host.loop.get());
  take_gil(state);
  Py_RETURN_NONE;
}

// load_class() -> the class
PyObject* host_load_class(PyObject* self, PyObject*) {
  Host& host = *as_host(self);
  const auto parts = constructor_of(host);
  if (parts.function.size() < wire::kPayloadPrefix) {
    PyErr_SetString(PyExc_RuntimeError, "the actor's class did not arrive");
    return nullptr;
  }
  return PyObject_CallMethod(host.runner.support(), "load_function", "iy#",
                             static_cast<int>(wire::kind_of(parts.function)),
                             parts.function.data() + wire::kPayloadPrefix,
                             static_cast<Py_ssize_t>(parts.function.size() - wire::kPayloadPrefix));
}

// construct() -> the instance
PyObject* host_construct(PyObject* self, PyObject*) {
  Host& host = *as_host(self);
  const auto parts = constructor_of(host);
  Owned cls(host_load_class(self, nullptr));
  if (!cls) return nullptr;
  wire::ByteReader in(parts.body);
  worker::TaskView task;
  task.client = host.actor.actor.owner;
  task.read(in);
  client::Submission::set_depth(task.head.depth + 1);
  host.instance = host.runner.call(cls.get(), task);
  host.actor.constructor = {};  // it may have been large
  return Py_XNewRef(host.instance);
}

PyObject* host_ready(PyObject* self, PyObject*) {
  as_host(self)->owner->client->say(wire::ControlType::kActorReady);
  Py_RETURN_NONE;
}

// failed(exception, text): the constructor raised it
PyObject* host_failed(PyObject* self, PyObject* args) {
  Host& host = *as_host(self);
  PyObject* error = nullptr;
  const char* text = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &error, &text)) return nullptr;
  worker::Outcome outcome;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  host.runner.fail("the constructor", false, &outcome);
  outcome.keep_within(wire::most_body_bytes(host.owner->client->node().store_limit_bytes));
  wire::ByteReader in(outcome.bytes);
  host.owner->client->actors().say_actor_failed({wire::decode_value(in).to_value(), text});
  Py_RETURN_NONE;
}

// ---- Calls on threads ----

// Borrowed; null with an exception set.
PyObject* bound_method(Host& host, const worker::TaskView& task) {
  PyObject*& known = host.methods[task.head.function];
  if (known == nullptr) {
    std::string name(task.name);
    known = PyObject_GetAttrString(host.instance, name.c_str());
  }
  return known;
}

PyObject* stream(Host& host, ActorCall* call, PyObject* method, GilHooks& hooks) {
  return host.runner.stream(method, call->task, [&](std::uint32_t index, std::string_view bytes, std::uint64_t size) {
    return host.loop->send_item(call, index, bytes, size, true, hooks);
  });
}

std::string full_name(const Host& host, const worker::TaskView& task) {
  return host.loop->actor_name() + "." + std::string(task.name);
}

void run_call(Host& host, ActorCall* call, GilHooks& hooks) {
  client::Submission::set_depth(call->task.head.depth + 1);
  client::Client::set_call({call->task.client, call->task.number, call->task.name});
  worker::Outcome outcome;
  host.runner.reset_bytes();
  PyObject* method = bound_method(host, call->task);
  PyObject* result = nullptr;
  running_call = {&host, call};
  if (method != nullptr) {
    result = call->task.head.generator != 0 ? stream(host, call, method, hooks) : host.runner.call(method, call->task);
  }
  const bool streamed_and_dropped = call->task.head.generator != 0 && host.loop->is_cancelled(call);
  if (streamed_and_dropped) {
    PyErr_Clear();
    outcome.status = TaskStatus::kCancelled;
  } else if (result == nullptr || !host.runner.encode_results(result, call->task, &outcome)) {
    outcome = worker::Outcome();
    host.runner.fail(full_name(host, call->task), call->task.head.portable != 0, &outcome);
  }
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  Py_XDECREF(result);
  running_call = {};
  host.runner.note_bytes(&outcome);
  host.loop->answer(call, outcome);
}

// call_is_cancelled() -> whether the method that this thread runs was cancelled
PyObject* call_is_cancelled(PyObject*, PyObject*) {
  const auto [host, call] = running_call;
  // The loop of a forked child is its parent's, and its mutex may be locked for ever.
  if (call == nullptr || host->owner->inherited) Py_RETURN_FALSE;
  return PyBool_FromLong(host->loop->is_cancelled(call));
}

// serve(): runs calls on this thread until the actor ends.
PyObject* host_serve(PyObject* self, PyObject*) {
  Host& host = *as_host(self);
  GilHooks hooks(host.owner);
  while (true) {
    ActorCall* call = host.loop->next(true, hooks);
    if (call != nullptr) {
      run_call(host, call, hooks);
      continue;
    }
    if (host.loop->has_ended()) break;
    PyErr_Clear();  // an interrupt is for nobody here
  }
  Py_RETURN_NONE;
}

// ---- Calls on an event loop ----

ActorCall* call_of(PyObject* number) { return static_cast<ActorCall*>(PyLong_AsVoidPtr(number)); }

void fail(Host& host, ActorCall* call, worker::Outcome* outcome) {
  host.runner.fail(full_name(host, call->task), call->task.head.portable != 0, outcome);
}

void answer(Host& host, ActorCall* call, PyObject* result) {
  worker::Outcome outcome;
  if (!host.runner.encode_results(result, call->task, &outcome)) {
    outcome = worker::Outcome();
    fail(host, call, &outcome);
  }
  host.loop->answer(call, outcome);
}

void answer_cancelled(Host& host, ActorCall* call) {
  worker::Outcome outcome;
  outcome.status = TaskStatus::kCancelled;
  host.loop->answer(call, outcome);
}

// An exception that is set, put away while Python runs and set again at the end.
class PutAway {
 public:
  PutAway() { PyErr_Fetch(&type_, &value_, &traceback_); }
  PutAway(const PutAway&) = delete;
  ~PutAway() { PyErr_Restore(type_, value_, traceback_); }
  bool is(PyObject* other) const { return type_ != nullptr && PyErr_GivenExceptionMatches(type_, other) != 0; }

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

bool raised_cancelled() {
  static PyObject* cancelled = nullptr;
  PutAway raised;
  return imported(&cancelled, "asyncio", "CancelledError") != nullptr && raised.is(cancelled);
}

// Whether somebody has asked for an end of this asyncio task.
bool is_cancelled(PyObject* task) {
  static PyObject* name = PyUnicode_InternFromString("cancelling");
  PutAway raised;
  Owned requests(PyObject_CallMethodNoArgs(task, name));
  return requests && PyObject_IsTrue(requests.get()) == 1;
}

// With the exception that is set.
void answer_raised(Host& host, ActorCall* call) {
  if (raised_cancelled()) {
    PyErr_Clear();
    return answer_cancelled(host, call);
  }
  worker::Outcome outcome;
  fail(host, call, &outcome);
  host.loop->answer(call, outcome);
}

// Whether there is surely nothing in it to wait for.
bool is_plain(PyObject* result) {
  const PyAsyncMethods* methods = Py_TYPE(result)->tp_as_async;
  return (methods == nullptr || methods->am_await == nullptr) && !PyGen_CheckExact(result);
}

// The exception of a forked child that waits in its parent's event loop.
void set_child_waits() {
  PyErr_SetString(
      PyExc_RuntimeError,
      "a child that was forked in an async method has waited for something: the event loop is its parent's; "
      "end the child before, or start it with subprocess");
}

// Calls that an event loop takes at one time.
class Batch {
 public:
  // `task`: the asyncio task in whose name coroutines take their first step, or None.
  Batch(Host& host, PyObject* task, PyObject* context)
      : host_(host), task_(task == Py_None ? nullptr : task), context_(context), rows_(PyList_New(0)) {}

  bool is_made() const { return static_cast<bool>(rows_); }  // false with a Python exception set: no memory
  // False with a Python exception set when there is no memory.
  bool add(ActorCall* call) {
    PyObject* method = bound_method(host_, call->task);
    Owned result(method == nullptr ? nullptr : host_.runner.call(method, call->task));
    if (!result) {
      answer_raised(host_, call);
      return true;
    }
    if (task_ != nullptr && PyCoro_CheckExact(result.get())) return begin(call, result.get());
    if (call->task.head.generator == 0 && is_plain(result.get())) {
      answer(host_, call, result.get());
      return true;
    }
    Owned number(PyLong_FromVoidPtr(call));
    PyObject* streams = call->task.head.generator != 0 ? Py_True : Py_False;
    Owned row(number ? PyTuple_Pack(3, number.get(), result.get(), streams) : nullptr);
    return row && PyList_Append(rows_.get(), row.get()) == 0;
  }
  // ([(call, what its method returned, generator)], (call, coroutine, what it waits for, context) or None)
  PyObject* result() const { return PyTuple_Pack(2, rows_.get(), waiting_ ? waiting_.get() : Py_None); }

 private:
  bool begin(ActorCall* call, PyObject* coroutine) {
    FirstStep step = take_first_step(coroutine, context_);
    if (host_.owner->inherited && step.end == FirstStep::End::kWaits) set_child_waits();
    host_.runner.end_forked_child();
    // It goes on with this one, or was told to end by it, which is no affair of the next.
    if (step.end == FirstStep::End::kWaits || is_cancelled(task_)) task_ = nullptr;
    if (step.end == FirstStep::End::kWaits) {
      Owned number(PyLong_FromVoidPtr(call));
      if (number) waiting_ = Owned(PyTuple_Pack(4, number.get(), coroutine, step.value.get(), step.context.get()));
      return static_cast<bool>(waiting_);
    }
    step.end == FirstStep::End::kRaised ? answer_raised(host_, call) : answer(host_, call, step.value.get());
    return true;
  }

  Host& host_;
  PyObject* task_;
  PyObject* context_;
  Owned rows_;
  Owned waiting_;
};

// take(count, task, context): calls at most so many methods, for a moment. Those that raise or give a value are answered
// at once, and so are coroutines that end in their first step. See Batch for the arguments and the result.
PyObject* host_take(PyObject* self, PyObject* const* args, Py_ssize_t arg_count) {
  if (arg_count != 3) return PyErr_Format(PyExc_TypeError, "take(count, task, context)");
  Host& host = *as_host(self);
  const long count = PyLong_AsLong(args[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  GilHooks hooks(nullptr);
  Batch batch(host, args[1], args[2]);
  if (!batch.is_made()) return nullptr;
  if (count <= 0) host.loop->read();
  std::uint64_t begun_ns = 0;
  for (long taken = 0; taken < count; ++taken) {
    // Looks once: what comes meanwhile wakes the event loop again.
    ActorCall* call = taken == 0 ? host.loop->next(false, hooks) : host.loop->next_read();
    if (call == nullptr) break;
    if (taken == 0) begun_ns = call->started_ns;
    const bool is_last = call->started_ns - begun_ns > kLongestTakeNs;
    if (!batch.add(call)) return nullptr;
    if (is_last) break;
  }
  return batch.result();
}

// finish(call, result)
PyObject* host_finish(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "finish(call, result)");
  as_host(self)->runner.end_forked_child();
  answer(*as_host(self), call_of(args[0]), args[1]);
  Py_RETURN_NONE;
}

// fail(call, exception): None for a cancelled call
PyObject* host_fail(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "fail(call, exception)");
  Host& host = *as_host(self);
  if (args[1] == Py_None) {
    as_host(self)->runner.end_forked_child();
    answer_cancelled(host, call_of(args[0]));
  } else {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(args[1])), args[1]);
    as_host(self)->runner.end_forked_child();
    answer_raised(host, call_of(args[0]));
  }
  Py_RETURN_NONE;
}

// item(call, index, value) -> bool: False to stop
PyObject* host_item(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "item(call, index, value)");
  Host& host = *as_host(self);
  ActorCall* call = call_of(args[0]);
  auto index = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(args[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  host.runner.end_forked_child();
  std::string bytes;
  std::uint64_t size = 0;
  if (!host.runner.encode_value(args[2], host.owner->client->objects().new_object_id(), call->task, "an item", &bytes,
                                &size)) {
    return nullptr;
  }
  GilHooks hooks(nullptr);
  return PyBool_FromLong(host.loop->send_item(call, index, bytes, size, false, hooks));
}

PyObject* host_may_send(PyObject* self, PyObject* call) {
  return PyBool_FromLong(as_host(self)->loop->may_send(call_of(call)));
}

// cancelled() -> [call]: since the last time
PyObject* host_cancelled(PyObject* self, PyObject*) {
  Owned list(PyList_New(0));
  if (!list) return nullptr;
  for (ActorCall* call : as_host(self)->loop->take_cancelled()) {
    Owned number(PyLong_FromVoidPtr(call));
    if (!number || PyList_Append(list.get(), number.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* host_has_calls(PyObject* self, PyObject*) { return PyBool_FromLong(as_host(self)->loop->has_calls()); }

// spin() -> whether calls have come
PyObject* host_spin(PyObject* self, PyObject*) { return PyBool_FromLong(as_host(self)->loop->spin()); }

PyObject* host_flush(PyObject* self, PyObject*) {
  as_host(self)->loop->flush();
  Py_RETURN_NONE;
}

PyObject* host_fileno(PyObject* self, PyObject*) { return PyLong_FromLong(as_host(self)->loop->event_fd()); }

// say_wait(number, call, refs) -> number: the call waits for one of these refs, and for nothing else
PyObject* host_say_wait(PyObject* self, PyObject* args) {
  unsigned long long number = 0;
  PyObject *call_number = nullptr, *refs = nullptr;
  if (!PyArg_ParseTuple(args, "KOO!", &number, &call_number, &PyList_Type, &refs)) return nullptr;
  std::vector<client::Object*> objects;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(refs); ++i) objects.push_back(as_ref(PyList_GET_ITEM(refs, i))->object);
  const worker::TaskView& task = call_of(call_number)->task;
  return PyLong_FromUnsignedLongLong(as_host(self)->owner->client->call_waits().say_call_waits(
      number, {task.client, task.number, task.name}, std::move(objects)));
}

PyObject* host_forget_wait(PyObject* self, PyObject* argument) {
  const unsigned long long number = PyLong_AsUnsignedLongLong(argument);
  if (PyErr_Occurred() != nullptr) return nullptr;
  as_host(self)->owner->client->call_waits().forget_call_wait(number);
  Py_RETURN_NONE;
}

// refused_waits() -> [(number, why)]
PyObject* host_refused_waits(PyObject* self, PyObject*) {
  Owned list(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& [number, why] : as_host(self)->owner->client->call_waits().take_refused_waits()) {
    Owned row(
        Py_BuildValue("Ks#", static_cast<unsigned long long>(number), why.data(), static_cast<Py_ssize_t>(why.size())));
    if (!row || PyList_Append(list.get(), row.get()) != 0) return nullptr;
  }
  return list.release();
}

// end_child(): in a forked child, whose event loop is the parent's
PyObject* host_end_child(PyObject* self, PyObject*) {
  set_child_waits();
  as_host(self)->runner.end_forked_child();
  return nullptr;
}

PyObject* host_has_ended(PyObject* self, PyObject*) { return PyBool_FromLong(as_host(self)->loop->has_ended()); }

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef host_methods[] = {
    {"settings", host_settings, METH_NOARGS, "What the creator's Python side sent along, as bytes."},
    {"cpus", host_cpus, METH_NOARGS, "The CPUs that the actor holds."},
    {"self_ref", host_self_ref, METH_NOARGS, "The object that handles of this actor refer to; it does not count."},
    {"open", host_open, METH_VARARGS,
     "open(name, mode, places): take callers; `name` stands before the names of methods.\n"
     "`mode`: an ActorMode. `places`: calls that run at once."},
    {"load_class", host_load_class, METH_NOARGS, "The actor's class."},
    {"construct", host_construct, METH_NOARGS, "The instance; raises what its constructor raises."},
    {"ready", host_ready, METH_NOARGS, "Tells the node that calls may come."},
    {"failed", host_failed, METH_VARARGS, "failed(exception, text): tells the node what the constructor raised."},
    {"serve", host_serve, METH_NOARGS, "Runs calls on this thread until the actor ends."},
    {"take", fast(host_take), METH_FASTCALL,
     "take(count, task, context) -> ([(call, result, generator)], (call, coroutine, waits for, context) or None)"},
    {"has_calls", host_has_calls, METH_NOARGS, "Whether take() would find some without a look at the callers."},
    {"finish", fast(host_finish), METH_FASTCALL, "finish(call, result)"},
    {"fail", fast(host_fail), METH_FASTCALL, "fail(call, exception), or None for a cancelled call"},
    {"item", fast(host_item), METH_FASTCALL, "item(call, index, value) -> whether to go on"},
    {"may_send", host_may_send, METH_O, "may_send(call): whether a further item may be sent now"},
    {"cancelled", host_cancelled, METH_NOARGS, "Running calls that were cancelled since the last time."},
    {"spin", host_spin, METH_NOARGS, "Looks for calls for a moment; whether some have come."},
    {"flush", host_flush, METH_NOARGS, "Sends the answers that wait."},
    {"fileno", host_fileno, METH_NOARGS, "Readable when take() may have something."},
    {"say_wait", host_say_wait, METH_VARARGS, "say_wait(number, call, refs) -> number, 0 when it cannot be said now"},
    {"forget_wait", host_forget_wait, METH_O, "forget_wait(number)"},
    {"refused_waits", host_refused_waits, METH_NOARGS, "[(number, why it can never end)], since the last time."},
    {"end_child", host_end_child, METH_NOARGS, "Ends a forked child that would go on in its parent's event loop."},
    {"has_ended", host_has_ended, METH_NOARGS, "Whether the node has let go of this actor."},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef host_functions[] = {
    {"call_is_cancelled", call_is_cancelled, METH_NOARGS,
     "call_is_cancelled() -> whether the actor's method that this thread runs was cancelled"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot host_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(host_dealloc)}, {Py_tp_methods, host_methods}, {0, nullptr}};
PyType_Spec host_spec{"fray._native.ActorHost", sizeof(PythonActorHost), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, host_slots};

}  // namespace

PyObject* new_actor_host(PythonClient* owner, PyObject* support, wire::HostActor actor,
                         std::unique_ptr<worker::MappedPage> page) {
  auto* self = PyObject_New(PythonActorHost, host_type);
  if (self == nullptr) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(owner));
  Py_INCREF(support);
  self->host = new Host(owner, support, std::move(actor), std::move(page));
  return reinterpret_cast<PyObject*>(self);
}

int add_actor_host(PyObject* module) {
  host_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&host_spec));
  if (host_type == nullptr || PyModule_AddType(module, host_type) != 0) return -1;
  return PyModule_AddFunctions(module, host_functions);
}

}  // namespace fray::python
