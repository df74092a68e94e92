// LogWriter: keeps one stream of one replica in files (supervisor/log_files.h), rotates them, and survives a full disk.
//
// Output is lost while the disk is full, but offsets count it: once there is room again, a new file begins at the
// present offset of the stream, so that readers see the gap. The writer tries again every half second.
//
// Threading:  one thread.
// Ownership:  owns the open files; the descriptor of the folder must outlive the writer.
// Failure:    errors are not reported: a job goes on without its logs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "os/fd.h"
#include "supervisor/order.h"

namespace fray::supervisor {

class LogWriter {
 public:
  LogWriter(int folder_fd, std::string stream, LogLimits limits)
      : folder_fd_(folder_fd), stream_(std::move(stream)), limits_(limits) {}

  void write(std::string_view bytes);
  // Closes the files. If the last bytes were lost, an empty file at the final offset tells readers so.
  void close();
  std::uint64_t offset() const { return offset_; }

 private:
  bool open_segment();
  void note_time();
  void lose(std::size_t bytes);

  const int folder_fd_;
  const std::string stream_;
  const LogLimits limits_;
  os::Fd file_;
  os::Fd times_;
  std::uint64_t segment_begin_ = 0;
  std::uint64_t offset_ = 0;
  std::deque<std::uint64_t> segments_;  // the offsets at which the files begin
  std::uint64_t retry_ns_ = 0;          // no write is tried before this time; 0 if the last one succeeded
  std::int64_t noted_ns_ = 0;           // when the last entry was written into the file of times
};

}  // namespace fray::supervisor
