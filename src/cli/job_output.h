// JobOutput: prints a job's output as it comes: bytes as they are, or lines with a replica's number, filtered, or as JSON.
//
// Threading:  one thread.
// Ownership:  keeps lines that have not ended, up to 1 MiB of each stream.
// Failure:    what is missing is said in its place. A closed standard output ends the program as SIGPIPE does.
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>

#include "client/job_client.h"

namespace fray::cli {

class JobOutput {
 public:
  struct Style {
    bool json = false;
    std::optional<std::regex> grep;
  };

  JobOutput(client::JobClient& jobs, Style style) : jobs_(jobs), style_(std::move(style)) {}

  // Prints what there is; with `follow` over all attempts until the job has ended.
  Status print(wire::OpenJobLog request, bool follow, const door::Patience& patience);

 private:
  using Stream = std::pair<std::uint32_t, std::uint8_t>;  // replica, stream

  void add(const wire::LogPiece& piece);
  void add_lines(const Stream& stream, const std::string& bytes);
  void line(const Stream& stream, std::string_view text);
  void finish_lines();
  static void write(std::uint8_t stream, std::string_view bytes);

  client::JobClient& jobs_;
  const Style style_;
  bool numbered_ = false;
  std::uint32_t attempt_ = 0;
  std::map<Stream, std::string> rest_;
};

}  // namespace fray::cli
