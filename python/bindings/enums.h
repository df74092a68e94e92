// The engine's enums in Python: fray._native.StatusCode and others, each an enum.IntEnum with the values of C++.
//
// Threading:  with the GIL, once.
// Ownership:  the module owns them.
// Failure:    -1 with a Python exception set.
#pragma once

#include <Python.h>

namespace fray::python {

int add_enums(PyObject* module);

}  // namespace fray::python
