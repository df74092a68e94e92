// is_main_interpreter: the extensions keep their types and tables once in a process, so that one interpreter can have them.
//
// Threading:  with the GIL.
// Ownership:  none.
// Failure:    false with ImportError set in any other interpreter than the main one, where nothing has been touched yet.
#pragma once

#include <Python.h>

namespace fray::python {

inline bool is_main_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "fray works in the main interpreter of a process only, and this is a sub-interpreter; use threads "
                  "or processes, or call fray from the main interpreter");
  return false;
}

}  // namespace fray::python
