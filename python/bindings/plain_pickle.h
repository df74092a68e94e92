// Pickles of plain data: None, bool, int, float, str, bytes, and lists, tuples, dicts and sets of these.
//
// Python's own pickler puts each text and each container into a table, because it may come again: of a list of 800,000 texts that
// takes 118 of 133 ms. Here a first look finds out what does come again; what has one reference to it cannot. The
// pickles are ordinary ones (protocol 4, https://peps.python.org/pep-3154/): what arrives is the same as by Python's
// pickler, also which parts are one object.
//
// Threading:  with the GIL; no code of Python runs meanwhile.
// Ownership:  borrows the value.
// Failure:    see pickle_plain().
#pragma once

#include "arguments.h"

namespace fray::python {

// Bytes. Null without an exception where there is anything else in the value, a number of more than 64 bits, or more than 200
// containers in one another, which are for Python's pickler; null with a MemoryError where memory is short.
Owned pickle_plain(PyObject* value);

}  // namespace fray::python
