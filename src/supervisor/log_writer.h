// LogWriter: keeps one stream of one replica in files (supervisor/log_files.h), rotates them, and survives a full disk.
//
// Output that a full disk does not take is lost, and counted in the offsets: once there is room again a new file begins
// at the stream's present offset, so that readers see the gap. Half a second passes between tries.
//
// Threading:  one thread.
// Ownership:  owns the open file; the folder's descriptor must outlive it.
// Failure:    none visible: logs do not end a job.
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
  // Leaves a mark where bytes at the very end were lost.
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
  std::deque<std::uint64_t> segments_;  // their beginnings
  std::uint64_t retry_ns_ = 0;          // no try before; 0: nothing is wrong
  std::int64_t noted_ns_ = 0;
};

}  // namespace fray::supervisor
