#include "supervisor/log_writer.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/clock.h"

namespace fray::supervisor {

namespace {

constexpr std::uint64_t kRetryPauseNs = 500'000'000;
constexpr std::int64_t kNotePauseNs = 1'000'000'000;
constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

bool LogWriter::open_segment() {
  if (file_.is_open() && offset_ - segment_begin_ < limits_.segment_bytes) return true;
  file_ = os::Fd(::openat(folder_fd_, fmt::format("{}.{}", stream_, offset_).c_str(), kFlags, 0600));
  if (!file_.is_open()) return false;
  segment_begin_ = offset_;
  if (segments_.empty() || segments_.back() != offset_) segments_.push_back(offset_);
  while (segments_.size() > limits_.segments) {
    ::unlinkat(folder_fd_, fmt::format("{}.{}", stream_, segments_.front()).c_str(), 0);
    segments_.pop_front();
  }
  return true;
}

void LogWriter::note_time() {
  const std::int64_t now = os::unix_ns();
  if (now - noted_ns_ < kNotePauseNs && now >= noted_ns_) return;
  noted_ns_ = now;
  if (!times_.is_open()) times_ = os::Fd(::openat(folder_fd_, (stream_ + ".times").c_str(), kFlags, 0600));
  std::array<char, 16> entry;
  std::memcpy(entry.data(), &now, 8);
  std::memcpy(entry.data() + 8, &offset_, 8);
  // An error is harmless: a missing entry only makes --since less exact.
  [[maybe_unused]] ssize_t written = ::write(times_.get(), entry.data(), entry.size());
}

void LogWriter::lose(std::size_t bytes) {
  offset_ += bytes;
  file_.reset();  // so that the next write begins another file, which is named after its offset
  retry_ns_ = os::monotonic_ns() + kRetryPauseNs;
}

void LogWriter::write(std::string_view bytes) {
  if (retry_ns_ != 0 && os::monotonic_ns() < retry_ns_) {
    offset_ += bytes.size();
    return;
  }
  while (!bytes.empty()) {
    if (!open_segment()) return lose(bytes.size());
    note_time();
    const ssize_t written = FRAY_FAULT("log_write", ENOSPC) ? -1 : ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return lose(bytes.size());
    retry_ns_ = 0;
    offset_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LogWriter::close() {
  if (retry_ns_ != 0) open_segment();
  file_.reset();
  times_.reset();
}

}  // namespace fray::supervisor
