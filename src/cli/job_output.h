// JobOutput: prints a job's output as it comes: bytes as they are, or lines with a replica's number, filtered, or as JSON.
//
// Threading:  one thread.
// Ownership:  keeps lines that have not ended, up to 1 MiB of each stream.
// Failure:    what is missing is said in its place. A closed standard output ends the program as SIGPIPE does.
#pragma once

#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "cluster/jobs.h"
#include "cluster/log_lines.h"

namespace fray::cli {

class JobOutput {
 public:
  struct Style {
    bool json = false;
    std::optional<std::regex> grep;
  };

  explicit JobOutput(Style style) : style_(std::move(style)) {}

  // To the log's end.
  Status print(cluster::JobLog& log, const Patience& patience);

 private:
  void add(const LogBatch& batch);
  void print_line(const cluster::LogLine& line) const;
  static void write(std::uint8_t stream, std::string_view bytes);

  const Style style_;
  bool of_several_ = false;
  cluster::LogLines lines_{[this](const cluster::LogLine& line) { print_line(line); }};
};

}  // namespace fray::cli
