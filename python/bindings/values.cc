#include "values.h"

#include <cstring>

#include <structmember.h>

#include "array_types.h"
#include "functions.h"
#include "main_reference.h"
#include "plain_pickle.h"
#include "portable.h"
#include "store/buffer_layout.h"
#include "wire/actor.h"
#include "wire/failure.h"
#include "wire/function_payload.h"

namespace fray::python {

namespace {

// The side table of refs: ref_reduce fills it while a value is pickled, and nested refs are read from it while one is
// unpickled. Pickling can run user code that pickles another value, so there is a stack of tables, one for each call. A context
// without a table is of a pickle that is kept for other values.
struct PickleContext {
  PythonClient* owner;
  std::vector<client::Object*>* nested;
  PickleContext* outer;
};
thread_local PickleContext* pickling = nullptr;
thread_local PickleContext* unpickling = nullptr;

struct ContextScope {
  ContextScope(PickleContext** slot, PythonClient* owner, std::vector<client::Object*>* nested)
      : slot_(slot), context_{owner, nested, *slot} {
    *slot = &context_;
  }
  ~ContextScope() { *slot_ = context_.outer; }
  PickleContext** slot_;
  PickleContext context_;
};

PyObject* slot_dumps = nullptr;
PyObject* slot_loads = nullptr;
PyObject* slot_cloud_dumps = nullptr;
PyObject* slot_function_dumps = nullptr;
PyObject* slot_with_classes = nullptr;
PyObject* slot_worker_dumps = nullptr;
PyObject* slot_unpicklable = nullptr;
PyObject* slot_unpack = nullptr;
PyObject* slot_nested = nullptr;
PyObject* slot_became_object = nullptr;
PyObject* slot_from_signal = nullptr;
PyObject* protocol_five = nullptr;
PyObject* pickle_watcher = nullptr;  // a callable that gets the pickles of values until it returns false; mostly null

// Collects the out-of-band buffers of one pickle. It is a Python object because buffer_callback has to be a callable.
struct CollectorObject {
  PyObject_HEAD vectorcallfunc call;
  std::vector<Py_buffer>* buffers;  // null once the pickle is complete
  PythonClient* owner;
};

// A true return value keeps a buffer inside the pickle: a small buffer, for which a place in shared memory would cost
// more than a copy; a buffer that is not contiguous; and any buffer after the pickle is complete, because user code may
// have kept the callback.
PyObject* collector_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject*) {
  std::vector<Py_buffer>* buffers = reinterpret_cast<CollectorObject*>(self)->buffers;
  if (PyVectorcall_NARGS(nargsf) != 1 || buffers == nullptr) Py_RETURN_TRUE;
  Owned raw(PyObject_CallMethod(args[0], "raw", nullptr));
  Py_buffer buffer;
  if (!raw || PyObject_GetBuffer(raw.get(), &buffer, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    Py_RETURN_TRUE;
  }
  if (buffer.len < static_cast<Py_ssize_t>(kInlineBytes / 2)) {
    PyBuffer_Release(&buffer);
    Py_RETURN_TRUE;
  }
  buffers->push_back(buffer);
  Py_RETURN_FALSE;
}

PyMemberDef collector_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CollectorObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
void collector_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}
PyType_Slot collector_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                 {Py_tp_members, collector_members},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(collector_dealloc)},
                                 {0, nullptr}};
PyType_Spec collector_spec{"fray._native.BufferCollector", sizeof(CollectorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           collector_slots};
PyTypeObject* collector_type = nullptr;

std::string_view content_of(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))};
}

bool is_foreign_ref_error() {
  static PyObject* error = nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool foreign =
      imported(&error, "fray.errors", "ForeignRefError") != nullptr && PyErr_GivenExceptionMatches(type, error);
  PyErr_Restore(type, value, traceback);
  return foreign;
}

bool passes_through() { return !PyErr_ExceptionMatches(PyExc_Exception) || is_foreign_ref_error() || is_from_signal(); }

// False, with the exception set, where it was not meant for the watcher: a signal has come while the watcher ran.
bool show_watcher(PyObject* pickle) {
  Owned watcher(Py_NewRef(pickle_watcher));
  Owned wants_more(PyObject_CallOneArg(watcher.get(), pickle));
  if (!wants_more && passes_through()) return false;
  if (!wants_more) PyErr_WriteUnraisable(watcher.get());
  const bool goes_on = wants_more && PyObject_IsTrue(wants_more.get()) == 1;
  if (!goes_on && pickle_watcher == watcher.get()) Py_CLEAR(pickle_watcher);
  return true;
}

// A function that pickles by value, or returns None for what the next one has to pickle.
struct ByValue {
  PyObject** slot;
  const char* module;
  const char* function;
};

constexpr ByValue kWaysByValue[] = {{&slot_function_dumps, "fray._functions_by_value", "dumps"},
                                    {&slot_worker_dumps, "fray._by_value", "dumps_for_workers"},
                                    {&slot_cloud_dumps, "fray._by_value", "dumps_whole"}};

void raise_unpicklable(const char* what, PyObject* value) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  Owned cause(error);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  if (imported(&slot_unpicklable, "fray.backend.native.failures", "raise_unpicklable") == nullptr) return;
  Owned ignored(PyObject_CallFunction(slot_unpicklable, "sOO", what, value, cause.get() ? cause.get() : Py_None));
}

}  // namespace

bool is_from_signal() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool from_signal = false;
  if (traceback != nullptr) {  // without one, no Python code was running
    Owned answer(imported(&slot_from_signal, "fray.backend.native.failures", "is_from_signal") == nullptr
                     ? nullptr
                     : PyObject_CallOneArg(slot_from_signal, traceback));
    from_signal = answer && PyObject_IsTrue(answer.get()) == 1;
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
  return from_signal;
}

Encoded::~Encoded() {
  clear_buffers();
  clear_nested();
}

void Encoded::clear_nested() {
  for (client::Object* object : nested_) owner_->client->objects().release(object);
  nested_.clear();
}

void Encoded::clear_buffers() {
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
  buffers_.clear();
}

bool Encoded::encode_simple(PythonClient* owner, PyObject* value) {
  using wire::Encoding;
  owner_ = owner;
  if (value == Py_None) {
    encoding_ = Encoding::kNone;
    return true;
  }
  if (value == Py_True || value == Py_False) {
    encoding_ = value == Py_True ? Encoding::kTrue : Encoding::kFalse;
    return true;
  }
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) {
      encoding_ = Encoding::kInt64;
      bytes_.assign(reinterpret_cast<const char*>(&number), sizeof(number));
      return true;
    }
  } else if (PyFloat_CheckExact(value)) {
    double number = PyFloat_AS_DOUBLE(value);
    encoding_ = Encoding::kFloat64;
    bytes_.assign(reinterpret_cast<const char*>(&number), sizeof(number));
    return true;
  } else if (PyBytes_CheckExact(value)) {
    encoding_ = Encoding::kBytes;
    if (PyBytes_GET_SIZE(value) > static_cast<Py_ssize_t>(kInlineBytes)) {
      large_ = true;
      whole_ = Owned(Py_NewRef(value));
    } else {
      bytes_.assign(PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
    }
    return true;
  } else if (PyUnicode_CheckExact(value)) {
    Py_ssize_t size = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(value, &size)) {
      encoding_ = Encoding::kUtf8;
      if (size > static_cast<Py_ssize_t>(kInlineBytes)) {
        large_ = true;
        whole_ = Owned(PyUnicode_AsUTF8String(value));
        return static_cast<bool>(whole_);
      }
      bytes_.assign(text, static_cast<std::size_t>(size));
      return true;
    }
    PyErr_Clear();  // a text with lone surrogates has no UTF-8 form; pickle handles it
  } else if (PyList_CheckExact(value) && take_refs(owner, value)) {
    encoding_ = Encoding::kRefs;
    return true;
  }
  return false;
}

bool Encoded::pack(PythonClient* owner, PyObject* value, const char* what) {
  if (!pack_portable({owner, &buffers_, &nested_}, value, what, &bytes_)) return false;
  encoding_ = buffers_.empty() ? wire::Encoding::kPortable : wire::Encoding::kPortableBuffers;
  large_ = !buffers_.empty() || bytes_.size() > kInlineBytes;
  if (!large_) return true;
  whole_ = Owned(PyBytes_FromStringAndSize(bytes_.data(), static_cast<Py_ssize_t>(bytes_.size())));
  return static_cast<bool>(whole_);
}

// Encodes a list that contains only refs of this client. Such lists are common, and pickling thousands of refs one by
// one would be slow. False, with nothing encoded, if the list contains anything else.
bool Encoded::take_refs(PythonClient* owner, PyObject* list) {
  const Py_ssize_t size = PyList_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!is_ref(item) || as_ref(item)->owner != owner) return false;
  }
  nested_.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    client::Object* object = as_ref(PyList_GET_ITEM(list, i))->object;
    client::retain(object);
    nested_.push_back(object);
  }
  return size > 0;
}

bool Encoded::dump(PyObject* function, PyObject* value, PyObject* callback) {
  clear_buffers();
  PyObject* args[4] = {nullptr, value, protocol_five, callback};
  static PyObject* names = Py_BuildValue("(ss)", "protocol", "buffer_callback");
  whole_ = Owned(PyObject_Vectorcall(function, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
  return static_cast<bool>(whole_);
}

// Plain data is pickled here. Then Python's pickler is tried, because it is written in C and many times faster than
// cloudpickle. If its result refers to `__main__`, which is another script in a worker, classes come with it; functions are
// then pickled by value.
bool Encoded::pickle(PythonClient* owner, PyObject* value, const char* what) {
  whole_ = pickle_plain(value);
  if (whole_) return take_whole();
  if (PyErr_Occurred() != nullptr) return false;
  if (imported(&slot_dumps, "_pickle", "dumps") == nullptr) return false;
  auto* collector = PyObject_New(CollectorObject, collector_type);
  if (collector == nullptr) return false;
  collector->call = collector_call;
  collector->buffers = &buffers_;
  collector->owner = owner;
  Owned callback(reinterpret_cast<PyObject*>(collector));
  ContextScope scope(&pickling, owner, &nested_);

  bool done = dump(slot_dumps, value, callback.get());
  if (!done && passes_through()) return false;
  if (done && !bring_classes(owner)) {
    done = false;
    if (PyErr_Occurred() != nullptr && passes_through()) return false;
  }
  for (const auto& [slot, module, function] : kWaysByValue) {
    if (done) break;
    PyErr_Clear();
    clear_nested();
    if (imported(slot, module, function) == nullptr) return false;
    done = dump(*slot, value, callback.get());
    if (!done && passes_through()) return false;
    done = done && whole_.get() != Py_None;
  }
  if (!done) {
    collector->buffers = nullptr;
    raise_unpicklable(what, value);
    return false;
  }
  collector->buffers = nullptr;
  if (pickle_watcher != nullptr && !show_watcher(whole_.get())) return false;
  return take_whole();
}

bool Encoded::take_whole() {
  encoding_ = buffers_.empty() ? wire::Encoding::kPickle : wire::Encoding::kPickleBuffers;
  auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(whole_.get()));
  large_ = !buffers_.empty() || size > kInlineBytes;
  if (!large_) {
    bytes_.assign(PyBytes_AS_STRING(whole_.get()), size);
    whole_ = Owned();
  }
  return true;
}

bool Encoded::take_pickle(PythonClient* owner, PyObject* pickle, PyObject* buffers) {
  owner_ = owner;
  encoding_ = wire::Encoding::kPickleBuffers;
  large_ = true;
  may_move_ = false;
  whole_ = Owned(Py_NewRef(pickle));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(buffers); ++i) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(PyList_GET_ITEM(buffers, i), &buffer, PyBUF_SIMPLE) != 0) return false;
    buffers_.push_back(buffer);
  }
  return true;
}

// Whether nothing of the main script is missing in the pickle: where it refers to classes alone, they are put into it.
bool Encoded::bring_classes(PythonClient* owner) {
  const auto names = names_in_main(content_of(whole_.get()));
  if (!names) return false;
  if (names->empty()) return true;
  if (imported(&slot_with_classes, "fray._functions_by_value", "with_classes") == nullptr) return false;
  Owned list(PyList_New(0));
  for (std::string_view name : *names) {
    Owned text(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return false;
  }
  Owned made(PyObject_CallFunction(slot_with_classes, "OOnO", whole_.get(), list.get(),
                                   static_cast<Py_ssize_t>(buffers_.size()), reinterpret_cast<PyObject*>(owner)));
  if (!made || made.get() == Py_None) return false;
  whole_ = std::move(made);
  return true;
}

client::Object* Encoded::store(PythonClient* owner) {
  GilHooks hooks(owner);
  client::Client& client = *owner->client;
  std::span<const std::byte> whole(reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(whole_.get())),
                                   static_cast<std::size_t>(PyBytes_GET_SIZE(whole_.get())));
  std::vector<std::span<const std::byte>> buffers;
  buffers.reserve(buffers_.size());
  for (const Py_buffer& buffer : buffers_) {
    buffers.emplace_back(static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len));
  }
  client::Object* in_place =
      may_move_ && buffers.size() == 1 ? client.values().put_in_place(encoding_, whole, buffers.front()) : nullptr;
  Result<client::Object*> made =
      in_place != nullptr ? Result(in_place) : client.values().put_large(encoding_, whole, buffers, hooks);
  if (!made.is_ok()) {
    if (!PyErr_Occurred()) raise_status(made.status());
    return nullptr;
  }
  made.value()->detail->nested = take_nested();
  if (in_place != nullptr && !became_object(buffers_.front().obj)) {
    client.objects().release(in_place);
    return nullptr;
  }
  return made.value();
}

// Makes an array read-only whose memory has become an object, since other processes may read it from now on. `buffer`
// is the memoryview of the pickled array.
bool Encoded::became_object(PyObject* buffer) {
  PyObject* array = PyMemoryView_Check(buffer) ? PyMemoryView_GET_BUFFER(buffer)->obj : buffer;
  if (imported(&slot_became_object, "fray.backend.native.rooms", "became_object") == nullptr) return false;
  Owned done(PyObject_CallOneArg(slot_became_object, array));
  return static_cast<bool>(done);
}

// ---- Decoding ----

namespace {

PyObject* loads(PythonClient* owner, PyObject* data, PyObject* buffers, std::vector<client::Object*>* nested) {
  if (imported(&slot_loads, "_pickle", "loads") == nullptr) return nullptr;
  ContextScope scope(&unpickling, owner, nested);
  if (buffers == nullptr) return PyObject_CallOneArg(slot_loads, data);
  PyObject* args[3] = {nullptr, data, buffers};
  static PyObject* names = Py_BuildValue("(s)", "buffers");
  return PyObject_Vectorcall(slot_loads, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

PyObject* raise_actor_died(std::string_view bytes) {
  static PyObject* slot = nullptr;
  Result<wire::ActorDeath> death = wire::decode<wire::ActorDeath>(bytes);
  if (!death.is_ok()) {
    raise_status(death.status());
    return nullptr;
  }
  if (imported(&slot, "fray.backend.native.failures", "actor_died") == nullptr) return nullptr;
  Owned error(PyObject_CallFunction(
      slot, "iisss#y#si", static_cast<int>(death->executed), static_cast<int>(death->fate), death->class_name.c_str(),
      death->name.c_str(), death->text.data(), static_cast<Py_ssize_t>(death->text.size()), death->error.data(),
      static_cast<Py_ssize_t>(death->error.size()), text_of(death->actor).c_str(), static_cast<int>(death->code)));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* raise_portable_failure(std::string_view bytes) {
  static PyObject* slot = nullptr;
  Result<wire::Failure> failure = wire::decode<wire::Failure>(bytes);
  if (!failure.is_ok()) {
    raise_status(failure.status());
    return nullptr;
  }
  if (imported(&slot, "fray.backend.native.failures", "task_error") == nullptr) return nullptr;
  auto text = [](const std::string& bytes_of) {
    return PyUnicode_DecodeUTF8(bytes_of.data(), static_cast<Py_ssize_t>(bytes_of.size()), "replace");
  };
  Owned error(PyObject_CallFunction(slot, "NNNN", text(failure->task), text(failure->type_name), text(failure->message),
                                    text(failure->traceback)));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* raise_failure(wire::Encoding encoding, std::string_view bytes) {
  if (encoding == wire::Encoding::kStatus) {
    if (bytes.empty()) {
      raise_status(StatusCode::kInternal, "a failure without a reason");
    } else {
      raise_status(static_cast<StatusCode>(bytes[0]), std::string(bytes.substr(1)));
    }
    return nullptr;
  }
  if (encoding == wire::Encoding::kActorDied) return raise_actor_died(bytes);
  if (encoding == wire::Encoding::kFailure) return raise_portable_failure(bytes);
  if (imported(&slot_unpack, "fray._failures", "unpack_exception") == nullptr) return nullptr;
  Owned data(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  if (!data) return nullptr;
  Owned error(PyObject_CallOneArg(slot_unpack, data.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* decode_items(PythonClient* owner, const std::vector<client::Object*>& items) {
  GilHooks hooks(owner);
  client::WaitResult result = owner->client->waits().wait(items, items.size(), std::nullopt, hooks);
  if (result == client::WaitResult::kInterrupted) return nullptr;
  if (result != client::WaitResult::kDone) {
    raise_status(owner->client->why_closed());
    return nullptr;
  }
  Owned values(PyList_New(0));
  for (client::Object* item : items) {
    Owned value(decode_object(owner, item));
    if (!values || !value || PyList_Append(values.get(), value.get()) != 0) return nullptr;
  }
  return values.release();
}

PyObject* decode_refs(PythonClient* owner, const std::vector<client::Object*>& objects) {
  Owned refs(PyList_New(static_cast<Py_ssize_t>(objects.size())));
  if (!refs) return nullptr;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    client::retain(objects[i]);
    PyObject* ref = new_ref(owner, objects[i]);
    if (ref == nullptr) return nullptr;
    PyList_SET_ITEM(refs.get(), static_cast<Py_ssize_t>(i), ref);
  }
  return refs.release();
}

// The parts of an object in shared memory; false with a Python exception set.
bool read_layout(std::string_view bytes, store::BufferLayout* layout) {
  auto read = store::BufferLayout::parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  if (!read.is_ok()) {
    raise_status(read.status());
    return false;
  }
  *layout = std::move(read).value();
  return true;
}

PyObject* decode_pickle(PythonClient* owner, std::string_view bytes, client::Object* object, const store::Pin& pin,
                        std::vector<client::Object*>* nested) {
  Owned data(object == nullptr
                 ? PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()))
                 : new_view(owner, object, pin, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()));
  return data ? with_common_type(loads(owner, data.get(), nullptr, nested)) : nullptr;
}

struct PickleViews {
  Owned pickle;
  Owned buffers;  // a list

  bool read(PythonClient* owner, std::string_view bytes, client::Object* object, const store::Pin& pin,
            ViewAccess access) {
    store::BufferLayout layout;
    if (!read_layout(bytes, &layout)) return false;
    pickle = Owned(new_view(owner, object, pin, layout.pickle.data(), layout.pickle.size()));
    buffers = Owned(PyList_New(static_cast<Py_ssize_t>(layout.buffers.size())));
    if (!pickle || !buffers) return false;
    for (std::size_t i = 0; i < layout.buffers.size(); ++i) {
      PyObject* view = new_view(owner, object, pin, layout.buffers[i].data(), layout.buffers[i].size(), access);
      if (view == nullptr) return false;
      PyList_SET_ITEM(buffers.get(), static_cast<Py_ssize_t>(i), view);
    }
    return true;
  }
};

PyObject* decode_pickle_with_buffers(PythonClient* owner, std::string_view bytes, client::Object* object,
                                     const store::Pin& pin, std::vector<client::Object*>* nested) {
  PickleViews views;
  if (!views.read(owner, bytes, object, pin, ViewAccess::kRead)) return nullptr;
  return with_common_type(loads(owner, views.pickle.get(), views.buffers.get(), nested));
}

PyObject* decode_portable_with_buffers(PythonClient* owner, std::string_view bytes, client::Object* object,
                                       const store::Pin& pin, std::vector<client::Object*>* nested) {
  store::BufferLayout layout;
  if (!read_layout(bytes, &layout)) return nullptr;
  const std::string_view items(reinterpret_cast<const char*>(layout.pickle.data()), layout.pickle.size());
  return unpack_portable({owner, object, pin, &layout.buffers, nested}, items);
}

// Decodes a value from its bytes. `object` and `pin` keep views into shared memory alive; they are null for inline
// values, which are copied because their bytes lie in a frame that is freed.
PyObject* decode_bytes(PythonClient* owner, wire::Encoding encoding, std::string_view bytes, client::Object* object,
                       const store::Pin& pin, std::vector<client::Object*>* nested) {
  using wire::Encoding;
  switch (encoding) {
    case Encoding::kNone:
      Py_RETURN_NONE;
    case Encoding::kTrue:
      Py_RETURN_TRUE;
    case Encoding::kFalse:
      Py_RETURN_FALSE;
    case Encoding::kInt64: {
      long long number = 0;
      if (bytes.size() != sizeof(number)) break;
      std::memcpy(&number, bytes.data(), sizeof(number));
      return PyLong_FromLongLong(number);
    }
    case Encoding::kFloat64: {
      double number = 0;
      if (bytes.size() != sizeof(number)) break;
      std::memcpy(&number, bytes.data(), sizeof(number));
      return PyFloat_FromDouble(number);
    }
    case Encoding::kUtf8:
      return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr);
    case Encoding::kBytes:
      return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
    case Encoding::kPickle:
      return decode_pickle(owner, bytes, object, pin, nested);
    case Encoding::kPickleBuffers:
      if (object == nullptr) break;
      return decode_pickle_with_buffers(owner, bytes, object, pin, nested);
    case Encoding::kPortable:
      return unpack_portable({owner, object, pin, nullptr, nested}, bytes);
    case Encoding::kPortableBuffers:
      if (object == nullptr) break;
      return decode_portable_with_buffers(owner, bytes, object, pin, nested);
    case Encoding::kItems:
      return decode_items(owner, *nested);
    case Encoding::kRefs:
      return decode_refs(owner, *nested);
    case Encoding::kException:
    case Encoding::kStatus:
    case Encoding::kActorDied:
    case Encoding::kFailure:
      return raise_failure(encoding, bytes);
  }
  raise_status(StatusCode::kCorruption, "a value does not fit its encoding");
  return nullptr;
}

struct NestedCounts {
  client::Client* client;
  std::vector<client::Object*> objects;
  ~NestedCounts() {
    for (client::Object* object : objects) client->objects().release(object);
  }
};

}  // namespace

PyObject* decode_object(PythonClient* owner, client::Object* object) {
  NestedCounts nested{owner->client, {}};
  if (object->detail && !object->failed()) nested.objects = owner->client->objects().nested(object);
  if (!object->sealed) return decode_bytes(owner, object->encoding, object->bytes, nullptr, nullptr, &nested.objects);
  GilHooks hooks(owner);
  Result<store::View> view = owner->client->values().view(object, hooks);
  if (!view.is_ok()) {
    if (!PyErr_Occurred()) raise_status(view.status());
    return nullptr;
  }
  std::string_view bytes(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size());
  return decode_bytes(owner, object->encoding, bytes, object, view->pin, &nested.objects);
}

PyObject* decode_value(PythonClient* owner, const wire::ValueView& value) {
  if (value.kind == wire::ValueKind::kSealed) {
    NestedCounts holder{owner->client, {owner->client->objects().adopt_sealed(value)}};
    return decode_object(owner, holder.objects.front());
  }
  NestedCounts nested{owner->client, {}};
  if (value.nested_count > 0) {
    std::vector<ObjectId> ids(value.nested_count);
    std::memcpy(ids.data(), value.nested_bytes.data(), value.nested_bytes.size());
    nested.objects = owner->client->objects().adopt(ids);
  }
  return decode_bytes(owner, value.encoding, value.bytes, nullptr, nullptr, &nested.objects);
}

PyObject* function_content(PythonClient* owner, std::string_view payload) {
  wire::ByteReader in(payload.substr(wire::kPayloadPrefix));
  if (wire::kind_of(payload) != wire::FunctionKind::kStored) {
    const std::string_view whole = in.get_raw(in.left());
    return PyBytes_FromStringAndSize(whole.data(), static_cast<Py_ssize_t>(whole.size()));
  }
  const wire::ValueView location = wire::decode_value(in);
  if (!in.done() || location.kind != wire::ValueKind::kSealed) {
    raise_status(StatusCode::kCorruption, "a function does not fit its format");
    return nullptr;
  }
  const NestedCounts holder{owner->client, {owner->client->objects().adopt_sealed(location)}};
  client::Object* object = holder.objects.front();
  GilHooks hooks(owner);
  Result<store::View> view = owner->client->values().private_view(object, hooks);
  if (!view.is_ok()) {
    if (!PyErr_Occurred()) raise_status(view.status());
    return nullptr;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size());
  PickleViews views;
  if (!views.read(owner, bytes, object, view->pin, ViewAccess::kWrite)) return nullptr;
  return PyTuple_Pack(2, views.pickle.get(), views.buffers.get());
}

// ---- Nested refs ----

Py_ssize_t note_nested_ref(PythonRef* ref) {
  if (!is_pickling()) {
    static PyObject* outside = nullptr;
    if (imported(&outside, "fray._ref_outside", "RefOutsideError") == nullptr) return -1;
    PyErr_SetString(outside,
                    "a ref can only be pickled by Fray: pass it as an argument, return it, or put it inside a value");
    return -1;
  }
  if (pickling->owner != ref->owner) {
    static PyObject* error = nullptr;
    if (imported(&error, "fray.errors", "ForeignRefError") == nullptr) return -1;
    PyErr_SetString(error, "a ref of another context is inside the value; get its value there and pass that");
    return -1;
  }
  client::retain(ref->object);
  pickling->nested->push_back(ref->object);
  return static_cast<Py_ssize_t>(pickling->nested->size()) - 1;
}

PyObject* nested_ref_function() { return imported(&slot_nested, "fray._native", "_nested_ref"); }

namespace {

PyObject* nested_ref(PyObject*, PyObject* argument) {
  Py_ssize_t index = PyLong_AsSsize_t(argument);
  if (index == -1 && PyErr_Occurred()) return nullptr;
  if (unpickling == nullptr || index < 0 || static_cast<std::size_t>(index) >= unpickling->nested->size()) {
    PyErr_SetString(PyExc_TypeError, "a pickle with a Fray ref in it can only be read by Fray");
    return nullptr;
  }
  client::Object* object = (*unpickling->nested)[static_cast<std::size_t>(index)];
  client::retain(object);
  return new_ref(unpickling->owner, object);
}

// Without nanobind: pickles name this function.
PyMethodDef value_functions[] = {
    {"_nested_ref", nested_ref, METH_O, "The ref at this place of the value's side table."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void watch_pickles(PickleWatcherOrNone watcher) {
  Py_XSETREF(pickle_watcher, watcher.is_none() ? nullptr : Py_NewRef(watcher));
}

bool is_pickling() { return pickling != nullptr && pickling->nested != nullptr; }

Owned outside_values(Callback function) {
  ContextScope scope(&pickling, nullptr, nullptr);
  return Owned(PyObject_CallNoArgs(function));
}

std::optional<PythonClient*> client_of_value(Any buffer_callback) {
  if (Py_TYPE(buffer_callback.object) != collector_type) return {};
  const auto& collector = *reinterpret_cast<CollectorObject*>(buffer_callback.object);
  if (collector.buffers == nullptr) return {};
  return reinterpret_cast<PythonClient*>(Py_NewRef(reinterpret_cast<PyObject*>(collector.owner)));
}

bool pickle_refers_to_main(BytesView pickle) { return refers_to_main(pickle.bytes); }

Answer<Owned> plain_pickle(Any value) {
  Owned pickle = pickle_plain(value);
  if (!pickle && PyErr_Occurred() != nullptr) return Raised();
  return pickle ? std::move(pickle) : Owned(Py_NewRef(Py_None));
}

std::optional<PythonClient*> receiving_client() {
  if (unpickling == nullptr) return {};
  return reinterpret_cast<PythonClient*>(Py_NewRef(reinterpret_cast<PyObject*>(unpickling->owner)));
}

int add_values(PyObject* module) {
  collector_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&collector_spec));
  protocol_five = PyLong_FromLong(5);
  if (collector_type == nullptr || protocol_five == nullptr) return -1;
  return PyModule_AddFunctions(module, value_functions);
}

}  // namespace fray::python
