// Failure: why user code failed, in words that every language can read (Encoding::kFailure).
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    decode() returns kCorruption when the bytes do not fit.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "wire/bytes.h"

namespace fray::wire {

struct Failure {
  std::string task;       // its name
  std::string type_name;  // of what was raised or thrown: "ValueError", "std::out_of_range"
  std::string message;
  std::string traceback;  // of a Python exception; else empty

  void encode(ByteWriter& out) const;
  static Result<Failure> decode(std::string_view bytes);
};

}  // namespace fray::wire
