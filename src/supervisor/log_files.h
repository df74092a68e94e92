// The files that hold one stream of one replica, and how to read them.
//
//   0.out.0, 0.out.67108864, ...   replica 0, standard output; the number is the offset of the file's first byte
//   0.out.times                    pairs of (unix time in nanoseconds, offset), about one a second
//
// Offsets count from the beginning of the stream, also after the oldest files were removed. Bytes before the first
// file, or between the end of a file and the beginning of the next one, are missing: their file was rotated away, or
// the disk was full.
//
// Threading:  any thread; the supervisor may extend, add and remove files meanwhile.
// Ownership:  none.
// Failure:    a file that cannot be read counts as missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fray::supervisor {

// Returns a name such as "0.out" or "3.err". `stream`: 1 is standard output, 2 standard error.
std::string stream_name(std::uint32_t replica, int stream);

struct LogSegment {
  std::string path;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Returns the files of a stream, in the order of their offsets.
std::vector<LogSegment> log_segments(const std::string& folder, const std::string& stream);

struct LogRead {
  std::uint64_t offset = 0;   // of the first byte that was read
  std::uint64_t missing = 0;  // bytes that are missing between the offset that was asked for and this one
  std::string bytes;          // empty at the end of the stream, which may still grow
};
LogRead read_log(const std::string& folder, const std::string& stream, std::uint64_t offset, std::size_t most);

std::uint64_t log_end(const std::string& folder, const std::string& stream);
// Returns the offset at which the last `lines` lines begin.
std::uint64_t tail_offset(const std::string& folder, const std::string& stream, std::uint64_t lines);
// Returns the length that the stream had at that time, exact to about a second.
std::uint64_t offset_at(const std::string& folder, const std::string& stream, std::int64_t unix_ns);

}  // namespace fray::supervisor
