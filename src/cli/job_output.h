// JobOutput: prints the output of a job while the job writes it: unchanged, or line by line with the number of the
// replica, only the lines that match a pattern, or as JSON.
//
// Threading:  one thread.
// Ownership:  keeps the beginning of lines that are not complete, up to 1 MiB for each stream.
// Failure:    where output is missing, a line in its place says so. When standard output is closed, the program ends as
//             SIGPIPE would end it. The first line on which the pattern takes too long ends it.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "cli/line_pattern.h"
#include "cluster/jobs.h"
#include "cluster/log_lines.h"

namespace fray::cli {

class JobOutput {
 public:
  struct Style {
    bool json = false;
    std::optional<LinePattern> grep;
  };

  explicit JobOutput(Style style) : style_(std::move(style)) {}

  // Prints until the log is at its end.
  Status print(cluster::JobLog& log, const Patience& patience);

 private:
  void add(const LogBatch& batch);
  void print_line(const cluster::LogLine& line);
  static void write(std::uint8_t stream, std::string_view bytes);

  const Style style_;
  bool of_several_ = false;
  Status failed_ = Status::ok();  // in the search for the pattern
  cluster::LogLines lines_{[this](const cluster::LogLine& line) { print_line(line); }};
};

}  // namespace fray::cli
