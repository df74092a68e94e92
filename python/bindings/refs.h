// ObjectRef and View: the two Python types that hold an object of the engine.
//
// ObjectRef is what users hold. View is the read-only buffer of bytes in shared memory, underneath numpy arrays and the
// like; it keeps the object, and so its memory, alive.
//
// Threading:  any thread with the GIL.
// Ownership:  each holds one count of its Object and a reference to its client; a View also the pin of its mapping.
// Failure:    a ref can only be pickled inside a Fray call; elsewhere that is a TypeError.
#pragma once

#include "python_client.h"

namespace fray::python {

struct PythonRef {
  PyObject_HEAD client::Object* object;
  PythonClient* owner;

  static constexpr char kTypeName[] = "fray._native.ObjectRef";
  static bool is(PyObject* object);
};

extern PyTypeObject* ref_type;
// What new refs are: ref_type, or the subtype that extend_refs() has made.
extern PyTypeObject* new_ref_type;
// How many refs this process has made.
extern std::uint64_t refs_made;

inline bool is_ref(PyObject* object) { return Py_TYPE(object) == new_ref_type || Py_TYPE(object) == ref_type; }
inline bool PythonRef::is(PyObject* object) { return is_ref(object); }
inline PythonRef* as_ref(PyObject* object) { return reinterpret_cast<PythonRef*>(object); }

// The name of an object among all that there ever were, as Python has it.
std::string text_of(const ObjectId& id);

// Takes over one count of `object`.
PyObject* new_ref(PythonClient* owner, client::Object* object);
// A view of `size` bytes at `data`, which lie in `object` (one count is added) and stay mapped while `pin` lives.
enum class ViewAccess : bool { kRead, kWrite };
PyObject* new_view(PythonClient* owner, client::Object* object, store::Pin pin, const std::byte* data, std::size_t size,
                   ViewAccess access = ViewAccess::kRead);

}  // namespace fray::python
