// fray._native: the engine's client and worker for Python.
//
// Threading, Ownership, Failure: see the header of each part.
#include <nanobind/nanobind.h>

#include "one_interpreter.h"
#include "python_client.h"
#include "signatures.h"

namespace nb = nanobind;

#define PyInit__native FRAY_UNCHECKED(_native)
NB_MODULE(_native, module) {
  // The types of this module are kept for the life of the process, and with them their methods.
  nb::set_leak_warnings(false);
  module.attr("RELEASE") = FRAY_VERSION;
  module.doc() = "The native engine's client and worker.";
  for (auto add :
       {fray::python::add_client, fray::python::add_refs, fray::python::add_values, fray::python::add_calls,
        fray::python::add_waits, fray::python::add_actors, fray::python::add_actor_host, fray::python::add_snapshots}) {
    if (add(module.ptr()) != 0) throw nb::python_error();
  }
  fray::python::add_enums(module);
  fray::python::add_functions(module);
  fray::python::add_documents(module);
  fray::python::add_jobs(module);
}
#undef PyInit__native
FRAY_MAIN_INTERPRETER_ONLY(_native)
