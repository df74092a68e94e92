// Pieces of what a job has printed. The streams of replicas are independent; 1 is standard output, 2 standard error.
//
// Threading:  values.
// Ownership:  a piece owns its bytes.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace fray {

struct LogCursor {
  std::uint32_t replica = 0;
  std::uint8_t stream = 1;
  std::uint64_t offset = 0;  // of the next byte to read, counted from the stream's beginning

  FRAY_FIELDS(replica, stream, offset);

  friend bool operator==(const LogCursor&, const LogCursor&) = default;
};

struct LogPiece {
  LogCursor at;               // of its first byte
  std::uint64_t missing = 0;  // bytes before it that are gone: rotated away, or lost to a full disk
  std::string bytes;

  FRAY_FIELDS(at, missing, bytes);
};

// What was read at once, of one attempt.
struct LogBatch {
  std::uint32_t attempt = 0;
  bool of_several = false;  // the job has more than one replica
  std::vector<LogPiece> pieces;
};

}  // namespace fray
