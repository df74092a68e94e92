#include "gil.h"

#include <unistd.h>

namespace fray::python {

void sleep_for_ever() {
  while (true) ::pause();
}

// Each function catches the unwinding of pthread_exit(), the only exception that Python's functions throw, and stops
// it.

void take_gil(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    sleep_for_ever();
  }
}

bool signal_raised() {
  try {
    return PyErr_CheckSignals() != 0;
  } catch (...) {
    sleep_for_ever();
  }
}

bool signal_came() {
  GilHeld held;
  return signal_raised();
}

PyGILState_STATE ensure_gil() {
  try {
    return PyGILState_Ensure();
  } catch (...) {
    sleep_for_ever();
  }
}

}  // namespace fray::python
