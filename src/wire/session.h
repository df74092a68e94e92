// The beginning of every connection, and texts of the node.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "model/ids.h"
#include "wire/control.h"

namespace fray::wire {

enum class Role : std::uint8_t { kDriver = 0, kWorker = 1, kObserver = 2 };
constexpr Role last_of(Role) { return Role::kObserver; }

// First message of every connection.
struct Hello {
  static constexpr ControlType kType = ControlType::kHello;
  Role role = Role::kDriver;
  std::int32_t pid = 0;
  ProcessId process = 0;  // workers: the number given at the spawn; others: 0
  std::string release;    // "0.1.0"; client and node must agree

  FRAY_FIELDS(role, pid, process, release);
};

// What a node tells each client of its session.
struct Session {
  std::uint32_t epoch = 0;
  ProcessId process = 0;
  std::uint32_t max_workers = 0;
  std::uint64_t store_limit_bytes = 0;
  std::string release;
  std::string folder;
  bool in_job = false;  // the client is a process of a job, and says when it waits (kBlocked, kUnblocked)

  FRAY_FIELDS(epoch, process, max_workers, store_limit_bytes, release, folder, in_job);
};

struct Text {                                  // kRefused: why; kStatusReply: a JSON document
  StatusCode code = StatusCode::kUnavailable;  // kRefused only
  std::string text;

  FRAY_FIELDS(code, text);
};

}  // namespace fray::wire
