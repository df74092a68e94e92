// fray._native: the engine's client and worker for Python.
//
// Threading, Ownership, Failure: see the header of each part.
#include <nanobind/nanobind.h>

#include "enums.h"
#include "one_interpreter.h"
#include "python_client.h"

namespace nb = nanobind;

#define PyInit__native FRAY_UNCHECKED(_native)
NB_MODULE(_native, module) {
  module.attr("RELEASE") = FRAY_VERSION;
  module.doc() = "The native engine's client and worker.";
  for (auto add : {fray::python::add_enums, fray::python::add_client, fray::python::add_refs, fray::python::add_values,
                   fray::python::add_calls, fray::python::add_waits, fray::python::add_worker, fray::python::add_actors,
                   fray::python::add_actor_host, fray::python::add_jobs, fray::python::add_tracer}) {
    if (add(module.ptr()) != 0) throw nb::python_error();
  }
}
#undef PyInit__native
FRAY_MAIN_INTERPRETER_ONLY(_native)
