#include "supervisor/log_files.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/files/whole_file.h"

namespace fray::supervisor {

namespace {

constexpr std::size_t kTailChunk = 64u << 10;

std::string read_at(const std::string& path, std::uint64_t offset, std::size_t most) {
  os::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string bytes(most, '\0');
  std::size_t got = 0;
  while (file.is_open() && got < most) {
    const ssize_t chunk = ::pread(file.get(), bytes.data() + got, most - got, static_cast<off_t>(offset + got));
    if (chunk <= 0) break;
    got += static_cast<std::size_t>(chunk);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace

std::string stream_name(std::uint32_t replica, int stream) {
  return fmt::format("{}.{}", replica, stream == 1 ? "out" : "err");
}

std::vector<LogSegment> log_segments(const std::string& folder, const std::string& stream) {
  std::vector<LogSegment> segments;
  DIR* opened = ::opendir(folder.c_str());
  if (opened == nullptr) return segments;
  const std::string prefix = stream + ".";
  while (dirent* entry = ::readdir(opened)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    LogSegment segment;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, segment.begin);
    struct stat found {};
    segment.path = folder + "/" + entry->d_name;
    if (error != std::errc() || stop != end || ::stat(segment.path.c_str(), &found) != 0) continue;
    segment.size = static_cast<std::uint64_t>(found.st_size);
    segments.push_back(std::move(segment));
  }
  ::closedir(opened);
  std::sort(segments.begin(), segments.end(),
            [](const LogSegment& a, const LogSegment& b) { return a.begin < b.begin; });
  return segments;
}

LogRead read_log(const std::string& folder, const std::string& stream, std::uint64_t offset, std::size_t most) {
  LogRead read;
  read.offset = offset;
  for (const LogSegment& segment : log_segments(folder, stream)) {
    if (segment.begin + segment.size <= read.offset) continue;
    if (segment.begin > read.offset) {
      if (!read.bytes.empty()) break;
      read.missing += segment.begin - read.offset;
      read.offset = segment.begin;
    }
    const std::uint64_t inside = read.offset + read.bytes.size() - segment.begin;
    const std::uint64_t left = segment.begin + segment.size - (read.offset + read.bytes.size());
    read.bytes += read_at(segment.path, inside, std::min<std::uint64_t>(left, most - read.bytes.size()));
    break;
  }
  return read;
}

std::uint64_t log_end(const std::string& folder, const std::string& stream) {
  const std::vector<LogSegment> segments = log_segments(folder, stream);
  return segments.empty() ? 0 : segments.back().begin + segments.back().size;
}

std::uint64_t tail_offset(const std::string& folder, const std::string& stream, std::uint64_t lines) {
  const std::vector<LogSegment> segments = log_segments(folder, stream);
  if (segments.empty()) return 0;
  const std::uint64_t end = segments.back().begin + segments.back().size;
  if (lines == 0) return end;
  bool at_end = true;  // a newline at the very end ends the last line; it does not begin another one
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    for (std::uint64_t left = segment->size; left > 0;) {
      const std::uint64_t from = left - std::min<std::uint64_t>(left, kTailChunk);
      const std::string chunk = read_at(segment->path, from, static_cast<std::size_t>(left - from));
      for (std::size_t i = chunk.size(); i > 0; --i) {
        if (chunk[i - 1] == '\n' && !at_end && --lines == 0) return segment->begin + from + i;
        at_end = false;
      }
      left = from;
    }
  }
  return segments.front().begin;
}

std::uint64_t offset_at(const std::string& folder, const std::string& stream, std::int64_t unix_ns) {
  auto times = os::read_file(folder + "/" + stream + ".times");
  if (!times.is_ok()) return 0;
  for (std::size_t at = 0; at + 16 <= times->size(); at += 16) {
    std::int64_t when = 0;
    std::uint64_t offset = 0;
    std::memcpy(&when, times->data() + at, 8);
    std::memcpy(&offset, times->data() + at + 8, 8);
    if (when >= unix_ns) return offset;
  }
  return log_end(folder, stream);
}

}  // namespace fray::supervisor
