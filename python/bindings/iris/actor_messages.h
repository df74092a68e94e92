// The messages of Iris's own actors as Python writes and reads them: bytes to parts, and back.
//
// Threading:  any thread with the GIL.
// Ownership:  values.
// Failure:    ValueError for bytes that are no such message.
#pragma once

#include <nanobind/nanobind.h>

namespace fray::python {

void add_actor_messages(nanobind::module_& module);

}  // namespace fray::python
