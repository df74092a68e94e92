#include "array_types.h"

#include <cstring>
#include <utility>

#include "arguments.h"

namespace fray::python {

namespace {

// The one type of a class of types, such as that of the floats of 64 bits. None for a class with several: texts of different
// lengths, records, and variable texts, of which each type has memory of its own.
Owned make_common_type(PyObject* kind) {
  Owned made(PyObject_CallNoArgs(kind));
  Owned again(made ? PyObject_CallNoArgs(kind) : nullptr);
  PyErr_Clear();
  return made && made.get() == again.get() ? std::move(made) : Owned(Py_NewRef(Py_None));
}

// Borrowed from what is kept for each class; null with an exception set.
PyObject* common_type(PyTypeObject* kind) {
  static PyObject* known = PyDict_New();
  if (known == nullptr) return nullptr;
  auto* key = reinterpret_cast<PyObject*>(kind);
  PyObject* found = PyDict_GetItemWithError(known, key);
  if (found != nullptr || PyErr_Occurred() != nullptr) return found;
  if (PyDict_SetItem(known, key, make_common_type(key).get()) != 0) return nullptr;
  return PyDict_GetItemWithError(known, key);
}

// An array of objects may contain itself, and must not be another object on the outside. What a program has attached to a type
// does not make it unequal to numpy's.
bool is_plain(PyObject* type) {
  Owned has_objects(PyObject_GetAttrString(type, "hasobject"));
  Owned metadata(PyObject_GetAttrString(type, "metadata"));
  return has_objects && has_objects.get() == Py_False && metadata && metadata.get() == Py_None;
}

// A view, or null, perhaps with an exception set.
PyObject* view_with_common_type(PyObject* array) {
  Owned type(PyObject_GetAttrString(array, "dtype"));
  PyObject* common = type ? common_type(Py_TYPE(type.get())) : nullptr;
  if (common == nullptr || common == type.get() || common == Py_None) return nullptr;
  // Another order of bytes makes it unequal.
  if (PyObject_RichCompareBool(type.get(), common, Py_EQ) != 1 || !is_plain(type.get())) return nullptr;
  return PyObject_CallMethod(array, "view", "O", common);
}

}  // namespace

PyObject* with_common_type(PyObject* value) {
  if (value == nullptr || std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") != 0) return value;
  PyObject* view = view_with_common_type(value);
  if (view == nullptr) {
    PyErr_Clear();
    return value;
  }
  Py_DECREF(value);
  return view;
}

}  // namespace fray::python
