// PythonClient: the Python object that holds the client, and helpers that all files of this folder use.
//
// Threading:  any thread with the GIL.
// Ownership:  Python owns it; refs and views hold a reference, so it lives until the last of them is gone.
// Failure:    functions set a Python exception and return null, as the C API wants it.
// GIL:        waits release it; while the client's mutex is held nothing is called that could take it.
#pragma once

#include <memory>

#include "arguments.h"
#include "client/client.h"
#include "gil.h"

namespace fray::python {

struct PythonClient {
  PyObject_HEAD client::Client* client;
  client::WorkerDuty* duty;  // set in a worker
  bool closed;               // by the user, or left to the parent: refs must not be used any more
  bool inherited;            // in a child of fork(): it is the parent's

  static constexpr char kTypeName[] = "fray._native.Client";
  static bool is(PyObject* object);
};

extern PyTypeObject* python_client_type;
inline bool PythonClient::is(PyObject* object) { return Py_TYPE(object) == python_client_type; }

// Adds to the module the types of each file, and the functions that calls pass through. 0 on success.
int add_client(PyObject* module);
int add_refs(PyObject* module);
int add_values(PyObject* module);
int add_calls(PyObject* module);
int add_snapshots(PyObject* module);
int add_waits(PyObject* module);
int add_actors(PyObject* module);
int add_actor_host(PyObject* module);

// Functions that read their arguments by hand, because calls pass through them. Their documentation begins with their types,
// of which the stub of the module is made.
using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t count);
inline PyCFunction fast(FastFunction function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
// Whether `given` is how many arguments there are to be; sets TypeError otherwise.
inline bool takes(const char* name, Py_ssize_t count, Py_ssize_t given) {
  if (given == count) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", name, count, given);
  return false;
}

// The client behind an argument; sets TypeError otherwise.
PythonClient* as_client(PyObject* object);

// False, with ContextClosedError set, once close() was called, or as check_own() says.
bool check_open(PythonClient* owner);
// False, with ForeignRefError set, in a forked child whose parent's client it is: its locks may be held for ever.
bool check_own(PythonClient* owner);

// What the engine says, in which there may be a path of any bytes.
PyObject* text_of_message(const std::string& message);
// Sets the Python exception for an error of the engine (see fray.backend.native.failures).
void raise_status(StatusCode code, const std::string& message);
inline void raise_status(const Status& status) { raise_status(status.code(), status.message()); }

// Releases the GIL around a sleep and asks Python whether a signal came. Python writes to the client's pipe when one has come,
// whichever thread it has come to, so the main thread sleeps until then.
class GilHooks : public client::WaitHooks {
 public:
  explicit GilHooks(PythonClient* owner);  // null: it is asked for nothing but the GIL
  void begin_wait() override;
  void end_wait() override;
  void before_sleep() override;
  void after_sleep() override { take_gil(state_); }
  bool interrupted() override { return signal_raised(); }
  bool is_main_thread() const override { return main_; }
  client::WorkerDuty* duty() override { return duty_; }

 private:
  PyThreadState* state_ = nullptr;
  bool main_ = false;
  bool is_side_ = false;  // another thread of a worker
  client::WorkerDuty* duty_ = nullptr;
  client::SignalPipe* signals_ = nullptr;
  int told_before_ = -1;  // of signals
};

// Remembers which thread is the main one. Called when the module is imported, and in a worker after its fork.
void remember_main_thread();

// module.name, looked up once and kept for the life of the process. Borrowed; null with an exception set.
PyObject* imported(PyObject** slot, const char* module, const char* name);

}  // namespace fray::python
