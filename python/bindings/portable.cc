#include "portable.h"

#include <cstring>

#include "fray/pack.h"

namespace fray::python {

namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kInsideBytes = 4096;  // smaller arrays are stored inline, between the other items

PyObject* slot_refused = nullptr;
PyObject* slot_array_parts = nullptr;
PyObject* slot_handle_parts = nullptr;
PyObject* slot_make_array = nullptr;
PyObject* slot_restore = nullptr;

constexpr const char* kModule = "fray.backend.native.portable";

// ---- Packing ----

class PortablePacker {
 public:
  PortablePacker(const PackedParts& parts, const char* what, std::string* out)
      : parts_(parts), what_(what), packer_(*out) {}

  bool pack(PyObject* value, int depth) {
    if (depth > kDeepest) return refuse(value, "it is nested more than 200 deep");
    if (value == Py_None) return packer_.none(), true;
    if (PyBool_Check(value)) return packer_.boolean(value == Py_True), true;
    if (PyLong_CheckExact(value)) return integer(value);
    if (PyFloat_CheckExact(value)) return packer_.real(PyFloat_AS_DOUBLE(value)), true;
    if (PyUnicode_CheckExact(value)) return text(value);
    if (PyBytes_CheckExact(value)) return bytes(value);
    if (PyList_CheckExact(value)) return list(value, depth);
    if (PyDict_CheckExact(value)) return dict(value, depth);
    if (is_ref(value)) return ref(value);
    if (std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") == 0) return array(value);
    return handle(value);
  }

 private:
  bool refuse(PyObject* value, const char* why) {
    if (imported(&slot_refused, kModule, "refuse") == nullptr) return false;
    Owned ignored(PyObject_CallFunction(slot_refused, "sOs", what_, value, why));
    return false;
  }
  bool integer(PyObject* value) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) return packer_.integer(number), true;
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
    if (overflow > 0 && PyErr_Occurred() == nullptr) return packer_.unsigned_integer(large), true;
    PyErr_Clear();
    return refuse(value, "an int has to fit into 64 bits");
  }
  bool text(PyObject* value) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(value, &size);
    if (data != nullptr) return packer_.text({data, static_cast<std::size_t>(size)}), true;
    PyErr_Clear();
    return refuse(value, "the text has characters that UTF-8 lacks");
  }
  bool bytes(PyObject* value) {
    packer_.bytes({PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))});
    return true;
  }
  bool list(PyObject* value, int depth) {
    packer_.list(static_cast<std::size_t>(PyList_GET_SIZE(value)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) {
      if (!pack(PyList_GET_ITEM(value, i), depth + 1)) return false;
    }
    return true;
  }
  bool dict(PyObject* value, int depth) {
    packer_.dict(static_cast<std::size_t>(PyDict_GET_SIZE(value)));
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *item = nullptr;
    while (PyDict_Next(value, &position, &key, &item)) {
      if (!pack(key, depth + 1) || !pack(item, depth + 1)) return false;
    }
    return true;
  }
  std::uint32_t place_of(PythonRef* ref) {
    client::retain(ref->object);
    parts_.refs->push_back(ref->object);
    return static_cast<std::uint32_t>(parts_.refs->size() - 1);
  }
  bool is_ours(PyObject* value) {
    if (as_ref(value)->owner == parts_.owner) return true;
    static PyObject* error = nullptr;
    if (imported(&error, "fray.errors", "ForeignRefError") == nullptr) return false;
    PyErr_SetString(error, "a ref of another context is inside the value; get its value there and pass that");
    return false;
  }
  bool ref(PyObject* value) {
    if (!is_ours(value)) return false;
    packer_.ref(place_of(as_ref(value)));
    return true;
  }
  // (dtype, shape, C-contiguous array); a dtype that others lack is refused there.
  bool array(PyObject* value) {
    if (imported(&slot_array_parts, kModule, "array_parts") == nullptr) return false;
    Owned parts(PyObject_CallFunction(slot_array_parts, "sO", what_, value));
    const char* dtype = nullptr;
    PyObject *shape = nullptr, *contiguous = nullptr;
    if (!parts || !PyArg_ParseTuple(parts.get(), "sO!O", &dtype, &PyTuple_Type, &shape, &contiguous)) return false;
    PackedArray packed;
    packed.dtype = dtype;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
      packed.shape.push_back(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shape, i)));
    }
    Py_buffer buffer;
    if (PyObject_GetBuffer(contiguous, &buffer, PyBUF_C_CONTIGUOUS) != 0) return false;
    packed.outside = static_cast<std::size_t>(buffer.len) > kInsideBytes;
    if (packed.outside) {
      packed.buffer = static_cast<std::uint32_t>(parts_.buffers->size());
      packer_.array(packed);
      parts_.buffers->push_back(buffer);
    } else {
      packed.bytes = {static_cast<const char*>(buffer.buf), static_cast<std::size_t>(buffer.len)};
      packer_.array(packed);
      PyBuffer_Release(&buffer);
    }
    return true;
  }
  // An actor's handle is (ref, description); all else is refused there.
  bool handle(PyObject* value) {
    if (imported(&slot_handle_parts, kModule, "handle_parts") == nullptr) return false;
    Owned parts(PyObject_CallFunction(slot_handle_parts, "sO", what_, value));
    PyObject *actor = nullptr, *description = nullptr;
    if (!parts || !PyArg_ParseTuple(parts.get(), "OO!", &actor, &PyBytes_Type, &description)) return false;
    if (!is_ours(actor)) return false;
    packer_.actor(place_of(as_ref(actor)),
                  {PyBytes_AS_STRING(description), static_cast<std::size_t>(PyBytes_GET_SIZE(description))});
    return true;
  }

  const PackedParts& parts_;
  const char* what_;
  Packer packer_;
};

// ---- Unpacking ----

class PortableUnpacker {
 public:
  PortableUnpacker(const UnpackedParts& parts, std::string_view bytes) : parts_(parts), unpacker_(bytes) {}

  PyObject* unpack(int depth) {
    Item item = unpacker_.next();
    if (depth > kDeepest) return broken();
    switch (item.kind) {
      case Kind::kNone:
        Py_RETURN_NONE;
      case Kind::kBool:
        return PyBool_FromLong(item.boolean);
      case Kind::kInt:
        return PyLong_FromLongLong(item.integer);
      case Kind::kUnsigned:
        return PyLong_FromUnsignedLongLong(item.unsigned_integer);
      case Kind::kFloat:
        return PyFloat_FromDouble(item.real);
      case Kind::kText:
        return PyUnicode_DecodeUTF8(item.bytes.data(), static_cast<Py_ssize_t>(item.bytes.size()), nullptr);
      case Kind::kBytes:
        return PyBytes_FromStringAndSize(item.bytes.data(), static_cast<Py_ssize_t>(item.bytes.size()));
      case Kind::kList:
        return list(item.count, depth);
      case Kind::kDict:
        return dict(item.count, depth);
      case Kind::kArray:
        return array(item.array);
      case Kind::kRef:
        return ref(item.count);
      case Kind::kActor:
        return handle(item);
      case Kind::kBroken:
        break;
    }
    return broken();
  }

 private:
  static PyObject* broken() {
    raise_status(StatusCode::kCorruption, "a portable value does not fit its format");
    return nullptr;
  }
  PyObject* list(std::uint32_t count, int depth) {
    Owned values(PyList_New(0));
    for (std::uint32_t i = 0; values && i < count; ++i) {
      Owned value(unpack(depth + 1));
      if (!value || PyList_Append(values.get(), value.get()) != 0) return nullptr;
    }
    return values.release();
  }
  PyObject* dict(std::uint32_t count, int depth) {
    Owned values(PyDict_New());
    for (std::uint32_t i = 0; values && i < count; ++i) {
      Owned key(unpack(depth + 1));
      Owned value(key ? unpack(depth + 1) : nullptr);
      if (!value || PyDict_SetItem(values.get(), key.get(), value.get()) != 0) return nullptr;
    }
    return values.release();
  }
  PyObject* array(const PackedArray& packed) {
    if (imported(&slot_make_array, kModule, "make_array") == nullptr) return nullptr;
    Owned memory;
    if (!packed.outside) {
      memory = Owned(PyBytes_FromStringAndSize(packed.bytes.data(), static_cast<Py_ssize_t>(packed.bytes.size())));
    } else if (parts_.object != nullptr && parts_.buffers != nullptr && packed.buffer < parts_.buffers->size()) {
      const std::span<const std::byte>& buffer = (*parts_.buffers)[packed.buffer];
      memory = Owned(new_view(parts_.owner, parts_.object, parts_.pin, buffer.data(), buffer.size()));
    } else {
      return broken();
    }
    Owned shape(PyTuple_New(static_cast<Py_ssize_t>(packed.shape.size())));
    if (!memory || !shape) return nullptr;
    for (std::size_t i = 0; i < packed.shape.size(); ++i) {
      PyTuple_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(i), PyLong_FromUnsignedLongLong(packed.shape[i]));
    }
    return PyObject_CallFunction(slot_make_array, "Os#O", memory.get(), packed.dtype.data(),
                                 static_cast<Py_ssize_t>(packed.dtype.size()), shape.get());
  }
  PyObject* ref(std::uint32_t place) {
    if (place >= parts_.refs->size()) return broken();
    client::retain((*parts_.refs)[place]);
    return new_ref(parts_.owner, (*parts_.refs)[place]);
  }
  PyObject* handle(const Item& item) {
    if (imported(&slot_restore, "fray.backend.native.actors", "restore_handle") == nullptr) return nullptr;
    Owned actor(ref(item.count));
    if (!actor) return nullptr;
    return PyObject_CallFunction(slot_restore, "Oy#", actor.get(), item.bytes.data(),
                                 static_cast<Py_ssize_t>(item.bytes.size()));
  }

  const UnpackedParts& parts_;
  Unpacker unpacker_;
};

}  // namespace

bool pack_portable(const PackedParts& parts, PyObject* value, const char* what, std::string* out) {
  return PortablePacker(parts, what, out).pack(value, 0);
}

PyObject* unpack_portable(const UnpackedParts& parts, std::string_view bytes) {
  return PortableUnpacker(parts, bytes).unpack(0);
}

}  // namespace fray::python
