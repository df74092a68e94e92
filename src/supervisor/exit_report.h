// ExitReport: how an attempt ended, as its supervisor wrote it last of all: the file `exit.json`.
//
// Room for the file is taken before anything starts, so that a full disk does not lose the report. The file is there
// whole or not at all, and when it is there it has reached the disk.
//
// Threading:  values; one writer.
// Ownership:  reserve() leaves a draft in the folder, which write() renames.
// Failure:    as Status; read() returns kNotFound while there is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::supervisor {

struct ReplicaReport {
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  bool asked = false;  // it had not ended when the others were told to
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t out_bytes = 0;  // written by it, lost ones included
  std::uint64_t err_bytes = 0;
  std::string memory;  // why its memory was not enough; empty when that was not it
};

struct ExitReport {
  std::string not_started;   // why nothing ran; else empty
  bool lost_parent = false;  // the embedded node's death ended it
  std::int64_t ended_unix_ns = 0;
  std::vector<ReplicaReport> replicas;

  static Status reserve(const std::string& folder, std::uint32_t replicas);
  Status write(const std::string& folder) const;
  static Result<ExitReport> read(const std::string& folder);
};

}  // namespace fray::supervisor
