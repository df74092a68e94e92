// What functions of fray._native take from Python and give to it, in words of C++. Each type says by its name what it is in
// Python, so the stub of the module is made from the functions themselves; casters.h tells nanobind how to convert them.
//
// Threading:  with the GIL.
// Ownership:  Borrowed lives as long as the call; all else owns what it has.
// Failure:    a Python exception is set wherever an Answer has no value, or a pointer to an object is null.
#pragma once

#include <Python.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fray::python {

// An owned reference that drops itself. Given to Python it is handed over.
struct Owned {
  PyObject* object = nullptr;
  Owned() = default;
  explicit Owned(PyObject* taken) : object(taken) {}
  Owned(Owned&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Owned() { Py_XDECREF(object); }
  explicit operator bool() const { return object != nullptr; }
  PyObject* get() const { return object; }
  PyObject* release() { return std::exchange(object, nullptr); }
};

// A str whose bytes are those of the file system, which may be any: os.fsencode() and os.fsdecode() of Python.
struct FileName {
  std::string bytes;
};
using FileNames = std::vector<FileName>;

// Bytes of Python: those of an argument, and those of an answer.
struct BytesView {
  std::string_view bytes;
};
struct Bytes {
  std::string bytes;
};

// A Python exception is set.
struct Raised {};
// None.
struct Nothing {};

// What a function gives to Python, unless it raises.
template <typename T>
struct Answer {
  Answer(Raised) {}                             // NOLINT
  Answer(T given) : value(std::move(given)) {}  // NOLINT
  std::optional<T> value;
};

// The name of a type as an argument of templates.
template <std::size_t kSize>
struct TypeName {
  char text[kSize];
  constexpr TypeName(const char (&given)[kSize]) {  // NOLINT
    for (std::size_t i = 0; i < kSize; ++i) text[i] = given[i];
  }
};

// An object of Python that is used as it is; None as well, where the type says so.
template <TypeName kTypeName, int (*kCheck)(PyObject*), bool kOrNone = false>
struct Borrowed {
  PyObject* object = nullptr;
  operator PyObject*() const { return object; }  // NOLINT
  bool is_none() const { return object == Py_None; }
};

inline int is_anything(PyObject*) { return 1; }
inline int is_bytes(PyObject* object) { return PyBytes_Check(object); }
inline int is_tuple(PyObject* object) { return PyTuple_Check(object); }
inline int is_dict(PyObject* object) { return PyDict_Check(object); }
inline int is_list(PyObject* object) { return PyList_Check(object); }
inline int is_type(PyObject* object) { return PyType_Check(object); }
inline int is_exception(PyObject* object) { return PyExceptionInstance_Check(object); }

using Any = Borrowed<"typing.Any", is_anything, true>;
using WholeBytes = Borrowed<"bytes", is_bytes>;
using Positional = Borrowed<"tuple[typing.Any, ...]", is_tuple>;
using Dict = Borrowed<"dict[str, typing.Any]", is_dict>;
using DictOrNone = Borrowed<"dict[str, typing.Any]", is_dict, true>;
using List = Borrowed<"list[typing.Any]", is_list>;
using Class = Borrowed<"type[typing.Any]", is_type>;
using Callback = Borrowed<"collections.abc.Callable[[], object]", PyCallable_Check>;
using Exception = Borrowed<"BaseException", is_exception>;
using ExceptionOrNone = Borrowed<"BaseException", is_exception, true>;

}  // namespace fray::python
