// BodySink: takes the body of a request piece by piece, where it may be too large to be kept in memory.
//
// Threading:  the loop's.
// Ownership:  the request holds it. Its destructor removes what was made of a body that never became complete.
// Failure:    write() returns why it takes no more; the request is answered with that.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fray::http {

class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual Status write(std::string_view bytes) = 0;
};

}  // namespace fray::http
