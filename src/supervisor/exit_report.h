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

#include "base/fields.h"
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

  static void visit(auto& report, auto&& field) {
    field("exit_code", report.exit_code);
    field("signal", report.signal);
    field("asked", report.asked);
    field("peak_memory_bytes", report.peak_memory_bytes);
    field("out_bytes", report.out_bytes);
    field("err_bytes", report.err_bytes);
    field(LaterField{"memory"}, report.memory);
  }
};

struct ExitReport {
  std::string not_started;   // why nothing ran; else empty
  bool lost_parent = false;  // the embedded node's death ended it
  std::int64_t ended_unix_ns = 0;
  std::vector<ReplicaReport> replicas;

  static void visit(auto& report, auto&& field) {
    field("not_started", report.not_started);
    field("lost_parent", report.lost_parent);
    field("ended_unix_ns", report.ended_unix_ns);
    field("replicas", report.replicas);
  }

  static Status reserve(const std::string& folder, std::uint32_t replicas);
  Status write(const std::string& folder) const;
  static Result<ExitReport> read(const std::string& folder);
};

}  // namespace fray::supervisor
