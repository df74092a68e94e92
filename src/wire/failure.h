// Failure: why user code failed, in words that every language can read (Encoding::kFailure).
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <string>

#include "wire/codec.h"

namespace fray::wire {

struct Failure {
  std::string task;       // its name
  std::string type_name;  // of what was raised or thrown: "ValueError", "std::out_of_range"
  std::string message;
  std::string traceback;  // of a Python exception; else empty

  FRAY_FIELDS(task, type_name, message, traceback);
};

}  // namespace fray::wire
