// get, wait, cancel and the completion queue of event loops and executors.
//
// Threading:  any thread with the GIL; waits release it after a spin of at most 20 microseconds.
// Ownership:  borrows its arguments for the length of the call.
// Failure:    GetTimeoutError, KeyboardInterrupt (through Python's own handler), and what a task raised.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "functions.h"
#include "os/process/thread_rest.h"
#include "trace_span.h"
#include "values.h"

namespace fray::python {

namespace {

using client::Client;
using client::WaitResult;

constexpr std::size_t kLooksAtSignals = 256;  // how many values are decoded between two checks for signals

client::ObjectWaits::Deadline deadline_of(std::optional<double> seconds) {
  if (!seconds || !(*seconds < 1e9)) return std::nullopt;
  return client::Clock::now() +
         std::chrono::duration_cast<client::Clock::duration>(std::chrono::duration<double>(*seconds));
}

// Reads the timeout argument; false with a Python exception set.
bool read_deadline(PyObject* timeout, client::ObjectWaits::Deadline* deadline) {
  if (timeout == Py_None) return true;
  const double seconds = PyFloat_AsDouble(timeout);
  if (seconds == -1 && PyErr_Occurred() != nullptr) return false;
  *deadline = deadline_of(seconds);
  return true;
}

PyObject* raise_wait(PythonClient* owner, const GilHooks& hooks, WaitResult result, std::size_t ready,
                     std::size_t asked) {
  if (result == WaitResult::kInterrupted) return nullptr;
  if (result == WaitResult::kClosed) {
    raise_status(owner->client->why_closed());
    return nullptr;
  }
  if (result == WaitResult::kDeadlock) {
    raise_status(StatusCode::kDeadlock, hooks.deadlock);
    return nullptr;
  }
  static PyObject* error = nullptr;
  if (imported(&error, "fray.errors", "GetTimeoutError") == nullptr) return nullptr;
  PyErr_Format(error, "get: %zu of %zu refs were ready when the time was over", ready, asked);
  return nullptr;
}

// `span` covers the wait, and gets the exception that its caller raises afterwards.
bool wait_ready(PythonClient* owner, std::span<client::Object* const> objects, PyObject* timeout, TraceSpan& span) {
  bool ready = true;
  for (client::Object* object : objects) ready = ready && object->is_ready();
  if (ready) return true;
  span.begin_wait("get", objects, timeout);
  client::ObjectWaits::Deadline deadline;
  if (!read_deadline(timeout, &deadline)) return false;
  GilHooks hooks(owner);
  WaitResult result = owner->client->waits().wait(objects, objects.size(), deadline, hooks);
  if (result == WaitResult::kDone) return true;
  if (result == WaitResult::kInterrupted) return false;  // even if the last object became ready at the same moment
  std::size_t count = 0;
  for (client::Object* object : objects) count += object->is_ready();
  if (count == objects.size()) return true;
  raise_wait(owner, hooks, result, count, objects.size());
  return false;
}

PyObject* raise_foreign(const char* verb, PyObject* ref) {
  static PyObject* error = nullptr;
  if (imported(&error, "fray.errors", "ForeignRefError") == nullptr) return nullptr;
  PyErr_Format(error, "%s: %R belongs to another context than this one; get its value there and pass that", verb, ref);
  return nullptr;
}

// The items of a generator task that were not taken yet, as a list; they can still be taken afterwards.
PyObject* get_items(PythonRef* ref, PyObject* timeout) {
  TraceSpan span;
  if (!ref->object->is_ready()) span.begin_wait("get", {&ref->object, 1}, timeout);
  client::ObjectWaits::Deadline deadline;
  if (!read_deadline(timeout, &deadline)) return nullptr;
  GilHooks hooks(ref->owner);
  std::vector<client::Object*> items;
  WaitResult result = ref->owner->client->waits().all_items(ref->object, &items, deadline, hooks);
  if (result != WaitResult::kDone) return raise_wait(ref->owner, hooks, result, 0, 1);
  if (ref->object->failed()) return decode_object(ref->owner, ref->object);
  Owned refs(PyList_New(0));
  bool good = static_cast<bool>(refs);
  for (client::Object* item : items) {
    Owned one(new_ref(ref->owner, item));  // takes over the reference
    good = good && one && PyList_Append(refs.get(), one.get()) == 0;
  }
  if (!good) return nullptr;
  Owned values(PyList_New(0));
  for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(refs.get()); ++i) {
    Owned value(decode_object(ref->owner, as_ref(PyList_GET_ITEM(refs.get(), i))->object));
    if (!value || PyList_Append(values.get(), value.get()) != 0) return nullptr;
  }
  return values.release();
}

PyObject* get_later(PythonClient* owner, client::Object* object, PyObject* timeout) {
  TraceSpan span;
  return wait_ready(owner, {&object, 1}, timeout, span) ? decode_object(owner, object) : nullptr;
}

// get(client, ref, timeout) -> value
PyObject* get(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes("get", 3, count)) return nullptr;
  if (!is_ref(args[1])) return PyErr_Format(PyExc_TypeError, "a ref is needed, got %s", Py_TYPE(args[1])->tp_name);
  PythonRef* ref = as_ref(args[1]);
  if (reinterpret_cast<PyObject*>(ref->owner) != args[0]) return raise_foreign("get", args[1]);
  if (!check_open(ref->owner)) return nullptr;
  client::Object* object = ref->object;
  if (object->stream) return get_items(ref, args[2]);
  return object->is_ready() ? decode_object(ref->owner, object) : get_later(ref->owner, object, args[2]);
}

// Collects borrowed objects of a list or tuple. False when it has anything else than refs of this client.
bool objects_of(PythonClient* owner, PyObject* sequence, std::vector<client::Object*>* objects) {
  Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  objects->reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!is_ref(items[i]) || as_ref(items[i])->owner != owner) return false;
    objects->push_back(as_ref(items[i])->object);
  }
  return true;
}

bool is_sequence(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

// get_many(client, refs, timeout) -> list of values, or NotImplemented when not all are refs of this client
PyObject* get_many(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes("get_many", 3, count)) return nullptr;
  if (!is_sequence(args[1]))
    return PyErr_Format(PyExc_TypeError, "a list of refs is needed, got %s", Py_TYPE(args[1])->tp_name);
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  Owned refs(PySequence_Tuple(args[1]));  // holds the refs while the GIL is released
  std::vector<client::Object*> objects;
  if (!refs) return nullptr;
  if (!objects_of(owner, refs.get(), &objects)) Py_RETURN_NOTIMPLEMENTED;
  TraceSpan span;
  if (!wait_ready(owner, objects, args[2], span)) return nullptr;
  Owned values(PyList_New(static_cast<Py_ssize_t>(objects.size())));
  if (!values) return nullptr;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i % kLooksAtSignals == 0 && PyErr_CheckSignals() != 0) return nullptr;
    PyObject* value = objects[i]->stream
                          ? get_items(as_ref(PyTuple_GET_ITEM(refs.get(), static_cast<Py_ssize_t>(i))), args[2])
                          : decode_object(owner, objects[i]);
    if (value == nullptr) return nullptr;
    PyList_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i), value);
  }
  return values.release();
}

// The refs that the last wait returned as not ready. A program that takes one result at a time passes them to the next
// wait unchanged, where they need not be checked again. Guarded by the GIL.
class CheckedRefs {
 public:
  // Whether these refs passed the check before. Only while no ref was made since: a new ref may have the address of a
  // freed one.
  bool contain(PyObject* const* items, std::size_t count) const {
    return made_ == refs_made && count == refs_.size() - begin_ && count > 0 &&
           std::memcmp(refs_.data() + begin_, items, count * sizeof(*items)) == 0;
  }
  // Notes refs that passed the check.
  void keep(PyObject* const* items, std::size_t count) {
    refs_.assign(items, items + count);
    begin_ = 0;
    made_ = refs_made;
  }
  void drop_first(std::size_t count) { begin_ += count; }

 private:
  std::vector<PyObject*> refs_;  // borrowed; compared, never followed
  std::size_t begin_ = 0;
  std::uint64_t made_ = 0;
};
CheckedRefs checked_refs;

// Whether all items are refs of this client, without duplicates. Marks each object with the number of this check; the
// GIL guards marks and numbers.
bool are_refs_once(PythonClient* owner, PyObject* const* items, std::size_t count) {
  static std::uint64_t look = 0;
  ++look;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_ref(items[i]) || as_ref(items[i])->owner != owner) return false;
    client::Object* object = as_ref(items[i])->object;
    if (std::exchange(object->mark, look) == look) return false;
  }
  return true;
}

bool is_ready(PyObject* ref) { return as_ref(ref)->object->has_next(); }

// The number of ready items before the first that is not ready.
std::size_t leading_ready(PyObject* const* items, std::size_t count) {
  std::size_t leading = 0;
  while (leading < count && is_ready(items[leading])) ++leading;
  return leading;
}

bool enough_ready(PyObject* const* items, std::size_t count, std::size_t needed) {
  std::size_t ready = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_ready(items[i]) && ++ready == needed) return true;
  }
  return false;
}

// Returns the first `needed` ready refs (fewer where fewer are ready), and all others, both in their order.
PyObject* split(PyObject* refs, std::size_t needed, bool known) {
  const Py_ssize_t size = PyList_GET_SIZE(refs);
  PyObject** items = PySequence_Fast_ITEMS(refs);
  const auto begin = static_cast<Py_ssize_t>(leading_ready(items, std::min(needed, static_cast<std::size_t>(size))));
  Owned ready(PyList_GetSlice(refs, 0, begin));
  Owned others;
  if (!ready) return nullptr;
  if (static_cast<std::size_t>(begin) == needed) {  // the most frequent case
    others = Owned(PyList_GetSlice(refs, begin, size));
    if (!others) return nullptr;
  } else {
    others = Owned(PyList_New(0));
    for (Py_ssize_t i = begin; i < size; ++i) {
      bool take = static_cast<std::size_t>(PyList_GET_SIZE(ready.get())) < needed && is_ready(items[i]);
      if (!others || PyList_Append(take ? ready.get() : others.get(), items[i]) != 0) return nullptr;
    }
    known = false;
  }
  if (known) {
    checked_refs.drop_first(needed);
  } else {
    checked_refs.keep(PySequence_Fast_ITEMS(others.get()), static_cast<std::size_t>(PyList_GET_SIZE(others.get())));
  }
  return PyTuple_Pack(2, ready.get(), others.get());
}

// wait(client, refs, num_returns, timeout) -> (ready, others), or NotImplemented when the arguments are not in order
PyObject* wait(PyObject*, PyObject* const* args, Py_ssize_t arg_count) {
  if (!takes("wait", 4, arg_count)) return nullptr;
  PythonClient* owner = as_client(args[0]);
  if (owner == nullptr || !check_open(owner)) return nullptr;
  if (!PyList_CheckExact(args[1]) || !PyLong_CheckExact(args[2])) Py_RETURN_NOTIMPLEMENTED;
  Py_ssize_t asked = PyLong_AsSsize_t(args[2]);
  if (asked == -1 && PyErr_Occurred()) PyErr_Clear();
  PyObject** items = PySequence_Fast_ITEMS(args[1]);
  auto count = static_cast<std::size_t>(PyList_GET_SIZE(args[1]));
  auto needed = static_cast<std::size_t>(asked);
  if (asked < 1 || needed > count) Py_RETURN_NOTIMPLEMENTED;
  bool known = checked_refs.contain(items, count) && as_ref(items[0])->owner == owner;
  if (!known && !are_refs_once(owner, items, count)) Py_RETURN_NOTIMPLEMENTED;
  if (enough_ready(items, count, needed)) return split(args[1], needed, known);

  client::ObjectWaits::Deadline deadline;
  if (!read_deadline(args[3], &deadline)) return nullptr;
  Owned refs(PyList_GetSlice(args[1], 0, PyList_GET_SIZE(args[1])));  // a copy: the list may change without the GIL
  std::vector<client::Object*> objects;
  if (!refs || !objects_of(owner, refs.get(), &objects)) return nullptr;
  TraceSpan span;
  span.begin_wait("wait", objects, args[3]);
  GilHooks hooks(owner);
  WaitResult result = owner->client->waits().wait(objects, needed, deadline, hooks);
  if (result == WaitResult::kInterrupted) return nullptr;
  if (result == WaitResult::kClosed || result == WaitResult::kDeadlock) {
    return raise_wait(owner, hooks, result, 0, count);
  }
  return split(refs.get(), needed, false);
}

// Without nanobind: every result passes through these functions.
PyMethodDef wait_functions[] = {
    {"get", fast(get), METH_FASTCALL, "get(client: Client, ref: Any, timeout: float | None) -> Any\n\nIts value."},
    {"get_many", fast(get_many), METH_FASTCALL,
     "get_many(client: Client, refs: list[Any], timeout: float | None) -> list[Any]\n\nTheir values."},
    {"wait", fast(wait), METH_FASTCALL,
     "wait(client: Client, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]\n\n"
     "Those that are ready, and the others."},
    {nullptr, nullptr, 0, nullptr}};

// ---- Completion queues ----

PyTypeObject* queue_type = nullptr;

void queue_dealloc(PyObject* self) {
  auto* queue = reinterpret_cast<PythonQueue*>(self);
  std::vector<client::Object*> objects;
  for (auto& [object, callbacks] : *queue->waiting) objects.push_back(object);
  queue->owner->client->waits().forget_listener(queue->queue, objects);
  queue->owner->client->call_waits().forget_loop(queue->queue);
  for (auto& [object, callbacks] : *queue->waiting) {
    Py_DECREF(callbacks);
    queue->owner->client->objects().release(object);
  }
  delete queue->waiting;
  delete queue->queue;
  Py_DECREF(reinterpret_cast<PyObject*>(queue->owner));
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot queue_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(queue_dealloc)}, {0, nullptr}};
PyType_Spec queue_spec{PythonQueue::kTypeName, sizeof(PythonQueue), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, queue_slots};

}  // namespace

Answer<bool> cancel(PythonClient*, PythonRef* ref, bool force, bool recursive) {
  if (!check_own(ref->owner)) return Raised();
  return ref->owner->client->tasks().cancel(ref->object, force, recursive);
}

Answer<bool> is_waiting(PythonClient*, PythonRef* ref, bool cancel) {
  if (!check_own(ref->owner)) return Raised();
  client::Submission& tasks = ref->owner->client->tasks();
  if (!cancel) return tasks.is_waiting(ref->object);
  GilHooks hooks(ref->owner);
  Result<bool> withdrawn = tasks.withdraw(ref->object, hooks);
  if (withdrawn.is_ok()) return withdrawn.value();
  if (!PyErr_Occurred()) raise_status(withdrawn.status());
  return Raised();
}

void note_own_socket(int descriptor) { os::note_own_socket(descriptor); }

bool PythonQueue::is(PyObject* object) { return Py_TYPE(object) == queue_type; }

PythonQueue* make_queue(PythonClient* client) {
  auto* self = PyObject_New(PythonQueue, queue_type);
  if (self == nullptr) return nullptr;
  self->queue = new client::CompletionQueue;
  self->owner = client;
  self->waiting = new std::unordered_map<client::Object*, PyObject*>;
  Py_INCREF(reinterpret_cast<PyObject*>(client));
  return self;
}

int queue_fileno(PythonQueue* self) { return self->queue->fd(); }

Answer<Nothing> queue_add(PythonQueue* self, PythonRef* ref, Callback callback) {
  if (!check_own(self->owner)) return Raised();
  auto [place, fresh] = self->waiting->try_emplace(ref->object, nullptr);
  if (fresh) {
    place->second = PyList_New(0);
    client::retain(ref->object);
  }
  if (PyList_Append(place->second, callback.object) != 0) return Raised();
  if (fresh) self->owner->client->waits().listen(ref->object, self->queue);
  return Nothing();
}

Answer<Nothing> queue_remove(PythonQueue* self, PythonRef* ref, Callback callback) {
  auto found = self->waiting->find(ref->object);
  if (found == self->waiting->end()) return Nothing();
  PyObject* callbacks = found->second;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callbacks); ++i) {
    if (PyList_GET_ITEM(callbacks, i) != callback.object) continue;
    if (PyList_SetSlice(callbacks, i, i + 1, nullptr) != 0) return Raised();
    break;
  }
  if (PyList_GET_SIZE(callbacks) > 0 || self->owner->inherited) return Nothing();
  self->waiting->erase(found);
  self->owner->client->waits().forget_listener(self->queue, {&ref->object, 1});
  self->owner->client->objects().release(ref->object);
  Py_DECREF(callbacks);
  return Nothing();
}

Answer<Nothing> queue_serve_loop(PythonQueue* self) {
  if (!check_own(self->owner)) return Raised();
  self->owner->client->call_waits().add_loop(self->queue);
  return Nothing();
}

// Does nothing in a forked child.
std::uint64_t queue_begin_wait(PythonQueue* self, PythonRef* ref) {
  if (self->owner->inherited) return 0;
  self->queue->begin_wait(ref->object);
  return self->owner->client->call_waits().begin_side_wait(ref->object, self->queue);
}

std::optional<std::string> queue_end_wait(PythonQueue* self, PythonRef* ref, std::uint64_t number) {
  if (self->owner->inherited) return {};
  self->queue->end_wait(ref->object);
  std::string why = self->owner->client->call_waits().end_side_wait(number);
  return why.empty() ? std::nullopt : std::optional(std::move(why));
}

Answer<bool> queue_wait(PythonQueue* self, std::optional<double> timeout) {
  if (!check_open(self->owner)) return Raised();
  GilHooks hooks(self->owner);
  WaitResult result = self->owner->client->waits().wait_completed(self->queue, deadline_of(timeout), hooks);
  if (result == WaitResult::kDone || result == WaitResult::kTimedOut) return result == WaitResult::kDone;
  raise_wait(self->owner, hooks, result, 0, 1);
  return Raised();
}

Answer<Nothing> queue_run(PythonQueue* self) {
  if (!check_own(self->owner)) return Raised();
  for (client::Object* object : self->owner->client->waits().take_completed(self->queue)) {
    auto found = self->waiting->find(object);
    if (found == self->waiting->end()) continue;
    Owned callbacks(found->second);
    self->waiting->erase(found);
    self->owner->client->objects().release(object);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callbacks.get()); ++i) {
      Owned ignored(PyObject_CallNoArgs(PyList_GET_ITEM(callbacks.get(), i)));
      if (!ignored) return Raised();
    }
  }
  return Nothing();
}

int add_waits(PyObject* module) {
  queue_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&queue_spec));
  if (queue_type == nullptr || PyModule_AddType(module, queue_type) != 0) return -1;
  return PyModule_AddFunctions(module, wait_functions);
}

}  // namespace fray::python
