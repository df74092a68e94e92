// LogLine: a line that a task has written.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>

namespace fray::iris {

struct LogLine {
  std::string job;  // the id; a child's where children are read too
  int task = 0;
  int attempt = 0;
  std::string stream;  // "stdout", "stderr"; "build" and "error" are the worker's own words
  std::int64_t time_ms = 0;
  std::string text;  // without its end
};

}  // namespace fray::iris
