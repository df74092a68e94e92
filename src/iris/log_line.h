// LogLine: one line of a task's output.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>

namespace fray::iris {

struct LogLine {
  std::string job;  // the id of the job, or of its child where the output of children is read
  int task = 0;
  int attempt = 0;
  std::string stream;  // "stdout" or "stderr"; "build" and "error" are what the worker itself says
  std::int64_t time_ms = 0;
  std::string text;  // without the newline
};

}  // namespace fray::iris
