// fray._native: the engine's client and worker for Python.
//
// Threading, Ownership, Failure: see the header of each part.
#include <nanobind/nanobind.h>

#include "python_client.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Python 3.12 and later refuse by themselves, unless the subinterpreter shares the main one's lock.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    throw nb::import_error("module fray._native does not support loading in subinterpreters");
  }
  module.attr("RELEASE") = FRAY_VERSION;
  module.doc() = "The native engine's client and worker.";
  for (auto add : {fray::python::add_client, fray::python::add_refs, fray::python::add_values, fray::python::add_calls,
                   fray::python::add_waits, fray::python::add_worker, fray::python::add_actors,
                   fray::python::add_actor_host, fray::python::add_jobs}) {
    if (add(module.ptr()) != 0) throw nb::python_error();
  }
}
