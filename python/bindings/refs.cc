#include "refs.h"

#include <structmember.h>

#include <fmt/format.h>

#include "functions.h"

namespace fray::python {

PyTypeObject* ref_type = nullptr;
PyTypeObject* new_ref_type = nullptr;
std::uint64_t refs_made = 0;

namespace {

struct PythonView {
  PyObject_HEAD client::Object* object;
  PythonClient* owner;
  store::Pin pin;
  const std::byte* data;
  Py_ssize_t size;
  ViewAccess access;
};

PyTypeObject* view_type = nullptr;

constexpr std::size_t kFreeListSize = 256;
PythonRef* free_refs[kFreeListSize];
std::size_t free_ref_count = 0;

void drop(client::Object* object, PythonClient* owner) {
  if (object != nullptr && owner->client != nullptr) owner->client->objects().release(object);
  Py_DECREF(reinterpret_cast<PyObject*>(owner));
}

void ref_dealloc(PyObject* self) {
  PythonRef* ref = as_ref(self);
  drop(ref->object, ref->owner);
  if (free_ref_count < kFreeListSize) {
    free_refs[free_ref_count++] = ref;
  } else {
    PyObject_Free(self);
  }
}

PyObject* ref_repr(PyObject* self) {
  const client::Object* object = as_ref(self)->object;
  const char* state = !object->is_ready() ? "pending" : object->failed() ? "failed" : "ready";
  std::string text =
      fmt::format("ObjectRef({:08x}.{}.{}, {})", object->id.epoch, object->id.owner, object->id.sequence, state);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

Py_hash_t ref_hash(PyObject* self) {
  auto hash = static_cast<Py_hash_t>(std::hash<ObjectId>{}(as_ref(self)->object->id));
  return hash == -1 ? -2 : hash;
}

PyObject* ref_compare(PyObject* left, PyObject* right, int operation) {
  if (!is_ref(left) || !is_ref(right) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool equal = as_ref(left)->object == as_ref(right)->object || as_ref(left)->object->id == as_ref(right)->object->id;
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

// Whether the ref can be iterated; false with a Python exception set.
bool check_iterable(PythonRef* ref) {
  if (!check_open(ref->owner)) return false;
  if (ref->object->stream) return true;
  PyErr_SetString(PyExc_TypeError,
                  "only the ref of a generator task can be iterated, in the process that has called it");
  return false;
}

// The ref of an item. Without an item the generator has ended: null with its failure, if it has one.
PyObject* taken_item(PythonRef* ref, client::Object* item) {
  if (item != nullptr) return new_ref(ref->owner, item);
  if (ref->object->failed()) {
    Owned ignored(decode_object(ref->owner, ref->object));
  }
  return nullptr;
}

PyObject* ref_next(PyObject* self) {
  PythonRef* ref = as_ref(self);
  if (!check_iterable(ref)) return nullptr;
  GilHooks hooks(ref->owner);
  client::Object* item = nullptr;
  switch (ref->owner->client->waits().next_item(ref->object, &item, std::nullopt, hooks)) {
    case client::WaitResult::kInterrupted:
      return nullptr;
    case client::WaitResult::kClosed:
      raise_status(ref->owner->client->why_closed());
      return nullptr;
    case client::WaitResult::kDeadlock:
      raise_status(StatusCode::kDeadlock, hooks.deadlock);
      return nullptr;
    default:
      break;
  }
  return taken_item(ref, item);  // null without an exception means StopIteration
}

PyObject* ref_take(PyObject* self, PyObject*) {
  PythonRef* ref = as_ref(self);
  if (!check_iterable(ref)) return nullptr;
  client::Object* item = nullptr;
  if (!ref->owner->client->waits().take_item(ref->object, &item)) Py_RETURN_NONE;
  PyObject* taken = taken_item(ref, item);
  if (taken == nullptr && !PyErr_Occurred()) PyErr_SetNone(PyExc_StopIteration);
  return taken;
}

PyObject* ref_anext(PyObject* self) {
  static PyObject* function = nullptr;
  if (imported(&function, "fray.backend.native.refs", "next_in_loop") == nullptr) return nullptr;
  return PyObject_CallOneArg(function, self);
}

// Pickling inside a Fray call: the ref goes into the side table and its place in it into the pickle.
PyObject* ref_reduce(PyObject* self, PyObject*) {
  PythonRef* ref = as_ref(self);
  Py_ssize_t index = note_nested_ref(ref);
  if (index < 0) return nullptr;
  PyObject* restore = nested_ref_function();
  if (restore == nullptr) return nullptr;
  return Py_BuildValue("O(n)", restore, index);
}

PyObject* ref_self(PyObject* self) { return Py_NewRef(self); }

PyObject* ref_result(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* function = nullptr;
  if (imported(&function, "fray.backend.native.refs", "result") == nullptr) return nullptr;
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  Owned all(PyTuple_New(count + 1));
  if (!all) return nullptr;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(function, all.get(), kwargs);
}

PyObject* ref_await(PyObject* self) {
  static PyObject* function = nullptr;
  if (imported(&function, "fray.backend.native.refs", "wait_in_loop") == nullptr) return nullptr;
  return PyObject_CallOneArg(function, self);
}

PyObject* ref_ready(PyObject* self, PyObject*) { return PyBool_FromLong(as_ref(self)->object->is_ready()); }

PyObject* ref_has_next(PyObject* self, PyObject*) { return PyBool_FromLong(as_ref(self)->object->has_next()); }

PyObject* ref_want_all(PyObject* self, PyObject*) {
  PythonRef* ref = as_ref(self);
  if (!check_open(ref->owner)) return nullptr;
  if (ref->object->stream) ref->owner->client->waits().lift_item_limit(ref->object);
  Py_RETURN_NONE;
}

PyObject* ref_failed(PyObject* self, PyObject*) {
  const client::Object* object = as_ref(self)->object;
  return PyBool_FromLong(object->is_ready() && object->failed());
}

PyObject* ref_is_stream(PyObject* self, PyObject*) { return PyBool_FromLong(as_ref(self)->object->stream); }

PyObject* ref_id(PyObject* self, PyObject*) {
  const std::string text = text_of(as_ref(self)->object->id);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* ref_is_call(PyObject* self, PyObject*) {
  if (!check_own(as_ref(self)->owner)) return nullptr;
  return PyBool_FromLong(as_ref(self)->owner->client->actors().is_actor_call(as_ref(self)->object));
}

PyObject* ref_client(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_ref(self)->owner)); }

PyMethodDef ref_methods[] = {
    {"__reduce__", ref_reduce, METH_NOARGS, "__reduce__() -> Any"},
    {"result", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(ref_result)), METH_VARARGS | METH_KEYWORDS,
     "result(timeout: float | None = None) -> Any\n\nThe value, waiting for it."},
    {"_ready", ref_ready, METH_NOARGS, "Whether the value is there."},
    {"_has_next", ref_has_next, METH_NOARGS, "Whether the value, or the next item of a generator task, is there."},
    {"_take", ref_take, METH_NOARGS, "The ref of the next item of a generator task; None while it is not there."},
    {"_want_all", ref_want_all, METH_NOARGS, "Let a generator task send all its items before one is taken."},
    {"_failed", ref_failed, METH_NOARGS, "Whether what is there is an exception."},
    {"_is_stream", ref_is_stream, METH_NOARGS, "Whether this is the ref of a generator task."},
    {"_is_call", ref_is_call, METH_NOARGS, "Whether this is the ref of an actor's call that has no answer yet."},
    {"_id", ref_id, METH_NOARGS, "Names the object among all that there ever were."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef ref_properties[] = {{"_client", ref_client, nullptr, nullptr, nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot ref_slots[] = {
    {Py_tp_doc, const_cast<char*>("Stands for the result of a task or for a value that was put.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(ref_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(ref_repr)},
    {Py_tp_hash, reinterpret_cast<void*>(ref_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(ref_compare)},
    {Py_tp_iter, reinterpret_cast<void*>(ref_self)},
    {Py_tp_iternext, reinterpret_cast<void*>(ref_next)},
    {Py_am_await, reinterpret_cast<void*>(ref_await)},
    {Py_am_aiter, reinterpret_cast<void*>(ref_self)},
    {Py_am_anext, reinterpret_cast<void*>(ref_anext)},
    {Py_tp_methods, ref_methods},
    {Py_tp_getset, ref_properties},
    {0, nullptr},
};
PyType_Spec ref_spec{
    "fray._native.ObjectRef", sizeof(PythonRef), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, ref_slots};

// ---- View ----

void view_dealloc(PyObject* self) {
  auto* view = reinterpret_cast<PythonView*>(self);
  PyTypeObject* type = Py_TYPE(self);
  view->pin.~shared_ptr();
  drop(view->object, view->owner);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

int view_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  auto* view = reinterpret_cast<PythonView*>(self);
  const int is_read_only = view->access == ViewAccess::kRead ? 1 : 0;
  return PyBuffer_FillInfo(buffer, self, const_cast<std::byte*>(view->data), view->size, is_read_only, flags);
}

PyType_Slot view_slots[] = {
    {Py_tp_doc, const_cast<char*>("Bytes in shared memory, or in a private map of it.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(view_dealloc)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(view_buffer)},
    {0, nullptr},
};
PyType_Spec view_spec{"fray._native.View", sizeof(PythonView), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, view_slots};

// ---- Room: writable memory in the store, underneath an array of ctx.empty() ----

struct PythonRoom {
  PyObject_HEAD PythonClient* owner;
  store::Pin pin;
  std::byte* data;
  Py_ssize_t size;
};
PyTypeObject* room_type = nullptr;

void room_dealloc(PyObject* self) {
  auto* room = reinterpret_cast<PythonRoom*>(self);
  PyTypeObject* type = Py_TYPE(self);
  room->pin.~shared_ptr();
  room->owner->client->values().leave_room(room->data);
  Py_DECREF(reinterpret_cast<PyObject*>(room->owner));
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

int room_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  auto* room = reinterpret_cast<PythonRoom*>(self);
  return PyBuffer_FillInfo(buffer, self, room->data, room->size, 0, flags);
}

PyType_Slot room_slots[] = {
    {Py_tp_doc, const_cast<char*>("Writable memory in the store.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(room_dealloc)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(room_buffer)},
    {0, nullptr},
};
PyType_Spec room_spec{"fray._native.Room", sizeof(PythonRoom), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, room_slots};

}  // namespace

std::string text_of(const ObjectId& id) { return fmt::format("{:08x}.{}.{}", id.epoch, id.owner, id.sequence); }

PyObject* new_ref(PythonClient* owner, client::Object* object) {
  PythonRef* ref =
      free_ref_count > 0 ? free_refs[--free_ref_count] : static_cast<PythonRef*>(PyObject_Malloc(sizeof(PythonRef)));
  if (ref == nullptr) {
    owner->client->objects().release(object);
    return PyErr_NoMemory();
  }
  ++refs_made;
  // The type lives as long as the process, so refs do not hold a reference to it, which saves counting.
  reinterpret_cast<PyObject*>(ref)->ob_type = new_ref_type;
  _Py_NewReference(reinterpret_cast<PyObject*>(ref));
  ref->object = object;
  ref->owner = owner;
  Py_INCREF(reinterpret_cast<PyObject*>(owner));
  return reinterpret_cast<PyObject*>(ref);
}

PyObject* new_view(PythonClient* owner, client::Object* object, store::Pin pin, const std::byte* data, std::size_t size,
                   ViewAccess access) {
  auto* view = reinterpret_cast<PythonView*>(PyObject_Malloc(sizeof(PythonView)));
  if (view == nullptr) return PyErr_NoMemory();
  PyObject_Init(reinterpret_cast<PyObject*>(view), view_type);
  client::retain(object);
  new (&view->pin) store::Pin(std::move(pin));
  view->object = object;
  view->owner = owner;
  Py_INCREF(reinterpret_cast<PyObject*>(owner));
  view->data = data;
  view->size = static_cast<Py_ssize_t>(size);
  view->access = access;
  return reinterpret_cast<PyObject*>(view);
}

Owned empty(PythonClient* client, std::uint64_t bytes) {
  if (!check_open(client)) return Owned();
  GilHooks hooks(client);
  Result<client::Room> made = client->client->values().make_room(bytes, hooks);
  if (!made.is_ok()) {
    if (!PyErr_Occurred()) raise_status(made.status());
    return Owned();
  }
  auto* room = reinterpret_cast<PythonRoom*>(PyObject_Malloc(sizeof(PythonRoom)));
  if (room == nullptr) return Owned(PyErr_NoMemory());
  PyObject_Init(reinterpret_cast<PyObject*>(room), room_type);
  room->owner = client;
  Py_INCREF(reinterpret_cast<PyObject*>(client));
  new (&room->pin) store::Pin(made->pin);
  room->data = made->data;
  room->size = static_cast<Py_ssize_t>(bytes);
  return Owned(reinterpret_cast<PyObject*>(room));
}

// The subtype is made in C, because objects of a class that Python makes are tracked by its garbage collector, at a
// cost for each object. It lives as long as the process: refs do not hold a reference to their type.
Owned extend_refs(Class methods) {
  // A dict and weak references may lie before the object, where they do not count in its size.
  const auto* given = reinterpret_cast<PyTypeObject*>(methods.object);
  if (given->tp_basicsize != PyBaseObject_Type.tp_basicsize || given->tp_dictoffset != 0 ||
      given->tp_weaklistoffset != 0) {
    return Owned(
        PyErr_Format(PyExc_TypeError, "a class is needed that adds no attributes to its objects: __slots__ = ()"));
  }
  if (new_ref_type != ref_type)
    return Owned(PyErr_Format(PyExc_RuntimeError, "the refs of this process are extended already"));
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A ref with further methods.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(ref_dealloc)},
      {Py_tp_hash, reinterpret_cast<void*>(ref_hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(ref_compare)},
      {Py_tp_iternext, reinterpret_cast<void*>(ref_next)},
      {0, nullptr},
  };
  static PyType_Spec spec{"fray.ObjectRef", sizeof(PythonRef), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Owned bases(PyTuple_Pack(2, methods.object, reinterpret_cast<PyObject*>(ref_type)));
  Owned made(bases ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr);
  if (made) new_ref_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(made.get()));
  return made;
}

Answer<Nothing> share(PythonRef* ref) {
  if (!check_open(ref->owner)) return Raised();
  ref->owner->client->objects().share({&ref->object, 1});
  ref->owner->client->flush_link();  // the node must know of it before anybody has its id
  return Nothing();
}

Owned find_object(PythonClient* client, std::uint32_t epoch, ProcessId owner, std::uint64_t sequence) {
  if (!check_open(client)) return Owned();
  client::Object* object = client->client->objects().find({epoch, owner, sequence});
  return Owned(object == nullptr ? Py_NewRef(Py_None) : new_ref(client, object));
}

int add_refs(PyObject* module) {
  new_ref_type = ref_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&ref_spec));
  view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&view_spec));
  room_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&room_spec));
  if (ref_type == nullptr || view_type == nullptr || room_type == nullptr) return -1;
  return PyModule_AddObjectRef(module, "ObjectRef", reinterpret_cast<PyObject*>(ref_type));
}

}  // namespace fray::python
