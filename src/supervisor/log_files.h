// The files that hold one stream of one replica, and how to read them.
//
//   0.out.0, 0.out.67108864, ...   replica 0, standard output; the number is the offset of the file's first byte
//   0.out.times                    pairs of (unix time in nanoseconds, offset), about one a second
//
// Offsets count from the beginning of the stream, also after old files were removed. Bytes between one file's end and
// the next one's beginning, and before the first file, are missing: they were lost to a full disk, or rotated away.
//
// Threading:  any thread; files may grow, appear and vanish meanwhile.
// Ownership:  none.
// Failure:    a file that cannot be read counts as missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fray::supervisor {

// "0.out", "3.err"; stream 1 is standard output, 2 standard error.
std::string stream_name(std::uint32_t replica, int stream);

struct LogSegment {
  std::string path;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// In order of their offsets.
std::vector<LogSegment> log_segments(const std::string& folder, const std::string& stream);

struct LogRead {
  std::uint64_t offset = 0;   // of the first byte
  std::uint64_t missing = 0;  // bytes between what was asked for and that
  std::string bytes;          // empty: there is nothing there, or not yet
};
LogRead read_log(const std::string& folder, const std::string& stream, std::uint64_t offset, std::size_t most);

std::uint64_t log_end(const std::string& folder, const std::string& stream);
// Where the last `lines` lines begin.
std::uint64_t tail_offset(const std::string& folder, const std::string& stream, std::uint64_t lines);
// The offset that had been reached by then, to about a second.
std::uint64_t offset_at(const std::string& folder, const std::string& stream, std::int64_t unix_ns);

}  // namespace fray::supervisor
