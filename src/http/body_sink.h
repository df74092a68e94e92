// BodySink: takes the body of a request as it comes, where it is too large to be kept in memory.
//
// Threading:  the loop's.
// Ownership:  the request holds it; whatever it has made of a body that never became whole, it removes.
// Failure:    write() returns why no more is taken: the request is answered with it.
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
