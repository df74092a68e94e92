// LogLines: makes the lines of a job's output out of the pieces of its streams.
//
// Threading:  one thread.
// Ownership:  keeps lines that have not ended, up to 1 MiB of each stream; a longer one is cut there.
// Failure:    a line says how many bytes are missing, where some are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "model/job_log.h"

namespace fray::cluster {

struct LogLine {
  std::uint32_t attempt = 0;
  std::uint32_t replica = 0;
  std::uint8_t stream = 1;
  std::string_view text;  // without its end
  bool has_end = true;    // false: the stream has ended in the midst of it
};

class LogLines {
 public:
  using OnLine = std::function<void(const LogLine& line)>;

  explicit LogLines(OnLine on_line) : on_line_(std::move(on_line)) {}

  // A batch of another attempt ends the lines of the one before it.
  void add(const LogBatch& batch);
  void finish();

 private:
  using Stream = std::pair<std::uint32_t, std::uint8_t>;

  void tell(const Stream& stream, std::string_view text, bool has_end);

  const OnLine on_line_;
  std::uint32_t attempt_ = 0;
  std::map<Stream, std::string> rest_;
};

// "[fray: 12 bytes of this output are missing here]", with its end.
std::string missing_text(std::uint64_t bytes);
// As it is shown: with the replica's number and always an end, where the job has several.
std::string line_text(const LogLine& line, bool of_several);

}  // namespace fray::cluster
