// with_common_type(): an array that was unpickled, with numpy's own object for the type of its elements.
//
// numpy pickles that type as a copy, `dtype("f8", False, True)`, so each value that is unpickled has one of its own. It is
// equal to numpy's, but some functions ask whether it is the same object: numpy.add.at takes four times as long for arrays
// with two of them (numpy 2.4).
//
// Threading:  any thread with the GIL.
// Ownership:  takes the reference to the value and returns one: to it, or to a view of the array.
// Failure:    none; an array of objects, or without a common type, stays as it is. Null stays null, with its exception.
#pragma once

#include <Python.h>

namespace fray::python {

PyObject* with_common_type(PyObject* value);

}  // namespace fray::python
