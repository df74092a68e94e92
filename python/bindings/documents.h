// json_of(): a document of Python as one of C++.
//
// Threading:  any thread with the GIL.
// Ownership:  values.
// Failure:    nanobind::cast_error for a text that is not UTF-8; the exception of Python for a number beyond a float, and
//             for an object of another kind that cannot be iterated over.
#pragma once

#include <nanobind/nanobind.h>

#include <nlohmann/json_fwd.hpp>

namespace fray::python {

// A document: dicts, lists, texts, bytes, numbers, booleans and None. In memory a text may have bytes that are not UTF-8,
// as names of files may.
nlohmann::json json_of(nanobind::handle value);

}  // namespace fray::python
