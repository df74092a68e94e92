// The first step of a coroutine: what it does before it waits for anything.
//
// Threading:  with the GIL.
// Ownership:  the step holds references to the objects that it names.
// Failure:    kRaised with the Python exception set.
#pragma once

#include "python_client.h"

namespace fray::python {

struct FirstStep {
  enum class End { kReturned, kWaits, kRaised };

  End end = End::kRaised;
  Owned value;    // what it returned, or what it waits for
  Owned context;  // where it goes on
};

// Takes it in a copy of `context`, as asyncio would.
FirstStep take_first_step(PyObject* coroutine, PyObject* context);

}  // namespace fray::python
