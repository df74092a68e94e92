#include "actor_host.h"

#include <unordered_map>

#include "call_runner.h"
#include "first_step.h"
#include "functions.h"
#include "wire/function_payload.h"
#include "worker/actor_loop.h"

namespace fray::python {

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
  std::unordered_map<std::uint64_t, PyObject*> methods;  // bound methods, by the hash of the name
};

namespace {

using wire::TaskStatus;
using worker::ActorCall;

PyTypeObject* host_type = nullptr;

// The call that this thread runs; null between calls, and on an event loop.
struct RunningCall {
  Host* host = nullptr;
  ActorCall* call = nullptr;
};
thread_local RunningCall running_call;
thread_local ActorCall* handed_call = nullptr;  // the call that an event loop takes its first step in

constexpr std::uint64_t kLongestTakeNs = 1'000'000;  // so that the event loop is not kept from other work

void host_dealloc(PyObject* self) {
  // The process ends with the host, so the user's objects are not destroyed.
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// ---- The constructor ----

wire::ConstructorView constructor_of(const Host& host) { return wire::ConstructorView::of(host.actor.constructor); }

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
  client::Submission::set_starter(call->ordinal);
  client::Client::set_call({call->task.client, call->task.number, call->task.name});
  worker::Outcome outcome;
  host.runner.reset_bytes();
  PyObject* method = bound_method(host, call->task);
  PyObject* result = nullptr;
  running_call = {&host, call};
  if (method != nullptr) {
    result = call->task.is_generator() ? stream(host, call, method, hooks) : host.runner.call(method, call->task);
  }
  const bool streamed_and_dropped = call->task.is_generator() && host.loop->is_cancelled(call);
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

// ---- Calls on an event loop ----

ActorCall* call_of(CallNumber number) { return reinterpret_cast<ActorCall*>(number); }
CallNumber number_of(const ActorCall* call) { return reinterpret_cast<CallNumber>(call); }

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

// Saves the exception that is set while other Python code runs, and sets it again at the end of the scope.
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

// Whether cancellation of this asyncio task was requested.
bool is_cancelled(PyObject* task) {
  static PyObject* name = PyUnicode_InternFromString("cancelling");
  PutAway raised;
  Owned requests(PyObject_CallMethodNoArgs(task, name));
  return requests && PyObject_IsTrue(requests.get()) == 1;
}

// Answers a call with the exception that is set.
void answer_raised(Host& host, ActorCall* call) {
  if (raised_cancelled()) {
    PyErr_Clear();
    return answer_cancelled(host, call);
  }
  worker::Outcome outcome;
  fail(host, call, &outcome);
  host.loop->answer(call, outcome);
}

// Whether the result certainly needs no await.
bool is_plain(PyObject* result) {
  const PyAsyncMethods* methods = Py_TYPE(result)->tp_as_async;
  return (methods == nullptr || methods->am_await == nullptr) && !PyGen_CheckExact(result);
}

// Sets the exception of a forked child that waits in its parent's event loop.
void set_child_waits() {
  PyErr_SetString(
      PyExc_RuntimeError,
      "a child that was forked in an async method has waited for something: the event loop is its parent's; "
      "end the child before, or start it with subprocess");
}

// The calls that an event loop takes in one round.
class Batch {
 public:
  // `task`: the asyncio task in whose name coroutines take their first step, or None.
  Batch(Host& host, PyObject* task, PyObject* context)
      : host_(host), task_(task == Py_None ? nullptr : task), context_(context), rows_(PyList_New(0)) {}

  bool is_made() const { return static_cast<bool>(rows_); }  // false with a Python exception set: no memory
  // False with a Python exception set when there is no memory.
  bool add(ActorCall* call) {
    client::Submission::set_starter(call->ordinal);
    handed_call = call;
    const bool added = begin(call);
    handed_call = nullptr;
    client::Submission::set_starter(0);
    return added;
  }
  // ([(call, what its method returned, generator)], (call, coroutine, what it waits for, context) or None)
  Owned result() const { return Owned(PyTuple_Pack(2, rows_.get(), waiting_ ? waiting_.get() : Py_None)); }

 private:
  bool begin(ActorCall* call) {
    PyObject* method = bound_method(host_, call->task);
    Owned result(method == nullptr ? nullptr : host_.runner.call(method, call->task));
    if (!result) {
      answer_raised(host_, call);
      return true;
    }
    if (task_ != nullptr && PyCoro_CheckExact(result.get())) return begin(call, result.get());
    if (!call->task.is_generator() && is_plain(result.get())) {
      answer(host_, call, result.get());
      return true;
    }
    Owned number(PyLong_FromVoidPtr(call));
    PyObject* streams = call->task.is_generator() ? Py_True : Py_False;
    Owned row(number ? PyTuple_Pack(3, number.get(), result.get(), streams) : nullptr);
    return row && PyList_Append(rows_.get(), row.get()) == 0;
  }

  bool begin(ActorCall* call, PyObject* coroutine) {
    FirstStep step = take_first_step(coroutine, context_);
    if (host_.owner->inherited && step.end == FirstStep::End::kWaits) set_child_waits();
    host_.runner.end_forked_child();
    // The prepared task goes on with this call, or this call has cancelled it; the next call must not use it.
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

PyType_Slot host_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(host_dealloc)}, {0, nullptr}};
PyType_Spec host_spec{PythonActorHost::kTypeName, sizeof(PythonActorHost), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, host_slots};

}  // namespace

bool PythonActorHost::is(PyObject* object) { return Py_TYPE(object) == host_type; }

// ---- The constructor ----

Bytes host_settings(PythonActorHost* self) { return {std::string(constructor_of(*self->host).settings)}; }

double host_cpus(PythonActorHost* self) { return self->host->actor.cpus; }

Owned host_self_ref(PythonActorHost* self) {
  Host& host = *self->host;
  ObjectId id = host.actor.actor;
  return Owned(new_ref(host.owner, host.owner->client->objects().adopt({&id, 1}).front()));
}

void host_open(PythonActorHost* self, std::string name, worker::ActorLoop::Mode mode, std::uint32_t places) {
  Host& host = *self->host;
  host.owner->client->actors().become_actor(host.actor.actor, places);
  host.loop = std::make_unique<worker::ActorLoop>(*host.owner->client, *host.page, std::move(name));
  host.loop->set_mode(mode);
  host.owner->duty = host.loop.get();
  PyThreadState* state = PyEval_SaveThread();
  host.owner->client->set_duty(host.loop.get());
  take_gil(state);
}

Owned host_load_class(PythonActorHost* self) {
  Host& host = *self->host;
  const std::string_view function = constructor_of(host).function;
  if (function.size() < wire::kPayloadPrefix) {
    PyErr_SetString(PyExc_RuntimeError, "the actor's class did not arrive");
    return Owned();
  }
  const Owned what(function_content(host.owner, function));
  if (!what) return Owned();
  return Owned(PyObject_CallMethod(host.runner.support(), "load_function", "iO",
                                   static_cast<int>(wire::kind_of(function)), what.get()));
}

Owned host_construct(PythonActorHost* self) {
  Host& host = *self->host;
  Owned cls = host_load_class(self);
  if (!cls) return cls;
  wire::ByteReader in(constructor_of(host).body);
  worker::TaskView task;
  task.client = host.actor.actor.owner;
  task.read(in);
  client::Submission::set_depth(task.head.depth + 1);
  host.instance = host.runner.call(cls.get(), task);
  host.actor.constructor = {};  // frees the frame, which may be large
  return Owned(Py_XNewRef(host.instance));
}

void host_ready(PythonActorHost* self) { self->host->owner->client->say(wire::ControlType::kActorReady); }

void host_failed(PythonActorHost* self, Exception error, std::string text) {
  Host& host = *self->host;
  worker::Outcome outcome;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.object)), error);
  host.runner.fail("the constructor", false, &outcome);
  outcome.keep_within(wire::most_body_bytes(host.owner->client->node().store_limit_bytes));
  wire::ByteReader in(outcome.bytes);
  host.owner->client->actors().say_actor_failed({wire::decode_value(in).to_value(), std::move(text)});
}

// ---- Calls on threads ----

bool call_is_cancelled() {
  const auto [host, call] = running_call;
  // In a forked child the loop belongs to the parent, and its mutex may stay locked.
  return call != nullptr && !host->owner->inherited && host->loop->is_cancelled(call);
}

std::pair<ProcessId, std::uint64_t> running_task() {
  if (handed_call != nullptr) return {handed_call->task.client, handed_call->task.number};
  return {client::current_call.client, client::current_call.number};
}

std::uint64_t starter() { return client::Submission::starter(); }

void set_starter(std::uint64_t call) { client::Submission::set_starter(call); }

void host_serve(PythonActorHost* self) {
  Host& host = *self->host;
  GilHooks hooks(host.owner);
  while (true) {
    ActorCall* call = host.loop->next(true, hooks);
    if (call != nullptr) {
      run_call(host, call, hooks);
      continue;
    }
    if (host.loop->has_ended()) return;
    PyErr_Clear();  // no task runs here that the interrupt could be meant for
  }
}

// ---- Calls on an event loop ----

Owned host_take(PythonActorHost* self, long count, Any task, Any context) {
  Host& host = *self->host;
  GilHooks hooks(nullptr);
  Batch batch(host, task, context);
  if (!batch.is_made()) return Owned();
  if (count <= 0) host.loop->read();
  std::uint64_t begun_ns = 0;
  for (long taken = 0; taken < count; ++taken) {
    // Reads once: calls that arrive later wake the event loop again.
    ActorCall* call = taken == 0 ? host.loop->next(false, hooks) : host.loop->next_read();
    if (call == nullptr) break;
    if (taken == 0) begun_ns = call->started_ns;
    const bool is_last = call->started_ns - begun_ns > kLongestTakeNs;
    if (!batch.add(call)) return Owned();
    if (is_last) break;
  }
  return batch.result();
}

void host_finish(PythonActorHost* self, CallNumber call, Any result) {
  self->host->runner.end_forked_child();
  answer(*self->host, call_of(call), result);
}

void host_fail(PythonActorHost* self, CallNumber call, ExceptionOrNone error) {
  const bool cancelled = error.is_none();
  if (!cancelled) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.object)), error);
  self->host->runner.end_forked_child();
  cancelled ? answer_cancelled(*self->host, call_of(call)) : answer_raised(*self->host, call_of(call));
}

Answer<bool> host_item(PythonActorHost* self, CallNumber number, std::uint32_t index, Any value) {
  Host& host = *self->host;
  ActorCall* call = call_of(number);
  host.runner.end_forked_child();
  std::string bytes;
  std::uint64_t size = 0;
  if (!host.runner.encode_value(value, host.owner->client->objects().new_object_id(), call->task, "an item", &bytes,
                                &size)) {
    return Raised();
  }
  GilHooks hooks(nullptr);
  return host.loop->send_item(call, index, bytes, size, false, hooks);
}

bool host_may_send(PythonActorHost* self, CallNumber call) { return self->host->loop->may_send(call_of(call)); }

std::vector<CallNumber> host_cancelled(PythonActorHost* self) {
  std::vector<CallNumber> numbers;
  for (const ActorCall* call : self->host->loop->take_cancelled()) numbers.push_back(number_of(call));
  return numbers;
}

bool host_has_calls(PythonActorHost* self) { return self->host->loop->has_calls(); }

bool host_spin(PythonActorHost* self) { return self->host->loop->spin(); }

void host_flush(PythonActorHost* self) { self->host->loop->flush(); }

int host_fileno(PythonActorHost* self) { return self->host->loop->event_fd(); }

std::uint64_t host_say_wait(PythonActorHost* self, std::uint64_t number, CallNumber call, List refs) {
  std::vector<client::Object*> objects;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(refs.object); ++i)
    objects.push_back(as_ref(PyList_GET_ITEM(refs.object, i))->object);
  const worker::TaskView& task = call_of(call)->task;
  return self->host->owner->client->call_waits().say_call_waits(number, {task.client, task.number, task.name},
                                                                std::move(objects));
}

void host_forget_wait(PythonActorHost* self, std::uint64_t number) {
  self->host->owner->client->call_waits().forget_call_wait(number);
}

std::vector<std::pair<std::uint64_t, std::string>> host_refused_waits(PythonActorHost* self) {
  return self->host->owner->client->call_waits().take_refused_waits();
}

Answer<Nothing> host_end_child(PythonActorHost* self) {
  set_child_waits();
  self->host->runner.end_forked_child();
  return Raised();
}

bool host_has_ended(PythonActorHost* self) { return self->host->loop->has_ended(); }

PythonActorHost* new_actor_host(PythonClient* owner, PyObject* support, wire::HostActor actor,
                                std::unique_ptr<worker::MappedPage> page) {
  auto* self = PyObject_New(PythonActorHost, host_type);
  if (self == nullptr) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(owner));
  Py_INCREF(support);
  self->host = new Host(owner, support, std::move(actor), std::move(page));
  return self;
}

int add_actor_host(PyObject* module) {
  host_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&host_spec));
  return host_type == nullptr ? -1 : PyModule_AddType(module, host_type);
}

}  // namespace fray::python
