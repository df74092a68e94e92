// ExitReport: how an attempt of a job ended. Its supervisor writes the report, as its last act, into `exit.json`.
//
// Disk space for the file is reserved before anything starts, so that the report survives a full disk. The file appears
// as a whole, after its content has reached the disk.
//
// Threading:  values; one process writes the file.
// Ownership:  reserve() leaves a draft in the folder, which write() fills and renames.
// Failure:    errors are returned as Status; read() returns kNotFound while there is no report.
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
  bool asked = false;  // true if it was still running when all replicas were told to end
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t out_bytes = 0;  // that it wrote, including output that was lost
  std::uint64_t err_bytes = 0;
  std::string memory;  // in words, how it ran out of memory; empty if it ended for another reason

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
  std::string not_started;   // why the attempt could not start; empty if it did
  bool lost_parent = false;  // true if it was ended because its embedded node had died
  std::int64_t ended_unix_ns = 0;
  std::vector<ReplicaReport> replicas;

  FRAY_FIELDS(not_started, lost_parent, ended_unix_ns, replicas);

  static Status reserve(const std::string& folder, std::uint32_t replicas);
  Status write(const std::string& folder) const;
  static Result<ExitReport> read(const std::string& folder);
};

}  // namespace fray::supervisor
