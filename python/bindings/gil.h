// Releases the GIL and takes it again, also while the interpreter ends.
//
// When the interpreter ends, Python up to 3.13 ends a daemon thread that asks for the GIL, by pthread_exit(), which
// unwinds the thread's stack: destructors of ours would then drop references and buffers without the GIL, while the main
// thread destroys the objects. So a thread that does not get the GIL any more sleeps here until the process ends, as
// all threads do from Python 3.14 on. User code that runs inside a call of ours may end its thread in the same way; the
// sources of this folder are therefore compiled without clean-up code for exceptions (see python/CMakeLists.txt), so that
// such an unwinding passes through their functions and destroys nothing.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    none: where the GIL is not to be had, the functions do not return.
#pragma once

#include <Python.h>

namespace fray::python {

// What becomes of a thread that does not get the GIL any more.
[[noreturn]] void sleep_for_ever();
// In place of PyEval_RestoreThread().
void take_gil(PyThreadState* state);
// In place of PyErr_CheckSignals(), for use below the engine's functions: whether a handler has raised.
bool signal_raised();
// The same, for a thread that has let go of the GIL.
bool signal_came();
// In place of PyGILState_Ensure().
PyGILState_STATE ensure_gil();

// Without the GIL while it lives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
  ~GilReleased() { take_gil(state_); }

 private:
  PyThreadState* state_;
};

// With the GIL while it lives, whichever thread this is.
class GilHeld {
 public:
  GilHeld() : state_(ensure_gil()) {}
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;
  ~GilHeld() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

}  // namespace fray::python
