// Lets only the main interpreter of a process import an extension, because extensions keep their types and tables in
// static variables, once a process.
//
//   #define PyInit__native FRAY_UNCHECKED(_native)
//   NB_MODULE(_native, module) { ... }
//   #undef PyInit__native
//   FRAY_MAIN_INTERPRETER_ONLY(_native)
//
// nanobind replaces what it knows of the module before the body of NB_MODULE runs, so the check comes before that.
//
// Threading:  with the GIL.
// Ownership:  none.
// Failure:    ImportError in a sub-interpreter, where nothing has been touched yet.
#pragma once

#include <Python.h>

namespace fray::python {

// False with ImportError set in any other interpreter.
inline bool is_main_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "fray works in the main interpreter of a process only, and this is a sub-interpreter; use threads "
                  "or processes, or call fray from the main interpreter");
  return false;
}

// From 3.13 on Python calls PyInit in the main interpreter, whichever asked for the module, and only the body of the module
// in the one that did.
inline void replace_body(PyObject* definition, int (*checked)(PyObject*), int (**unchecked)(PyObject*)) {
  if (definition == nullptr || !PyObject_TypeCheck(definition, &PyModuleDef_Type)) return;
  for (PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(definition)->m_slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec || slot->value == reinterpret_cast<void*>(checked)) continue;
    *unchecked = reinterpret_cast<int (*)(PyObject*)>(slot->value);
    slot->value = reinterpret_cast<void*>(checked);
  }
}

}  // namespace fray::python

#define FRAY_UNCHECKED(module) fray_init##module
#define FRAY_MAIN_INTERPRETER_ONLY(module)                                                                           \
  namespace {                                                                                                        \
  int (*unchecked##module)(PyObject*) = nullptr;                                                                     \
  int checked##module(PyObject* made) { return fray::python::is_main_interpreter() ? unchecked##module(made) : -1; } \
  }                                                                                                                  \
  extern "C" [[gnu::visibility("default")]] PyObject* PyInit_##module();                                             \
  extern "C" PyObject* PyInit_##module() {                                                                           \
    if (!fray::python::is_main_interpreter()) return nullptr;                                                        \
    PyObject* definition = FRAY_UNCHECKED(module)();                                                                 \
    fray::python::replace_body(definition, checked##module, &unchecked##module);                                     \
    return definition;                                                                                               \
  }
