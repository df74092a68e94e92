// Gives the functions of functions.h, and the engine's enums, to the module. The types must be there already.
//
// Threading:  with the GIL, once.
// Ownership:  the module owns them.
// Failure:    exceptions of nanobind.
#pragma once

#include <nanobind/nanobind.h>

namespace fray::python {

void add_enums(nanobind::module_& module);
void add_functions(nanobind::module_& module);
void add_documents(nanobind::module_& module);  // documents.cc
void add_jobs(nanobind::module_& module);       // jobs.cc

}  // namespace fray::python
