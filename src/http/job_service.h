// JobService: a node's jobs as the HTTP API needs them.
//
// Threading:  the loop's: callbacks come later, on the loop, never from inside the call.
// Ownership:  the caller keeps the service; what was asked for is dropped with a LogReader, or with the service.
// Failure:    the callback gets the status: kNotFound for a job that is not there, kAlreadyExists for an id that is taken,
//             kInvalidArgument for what cannot be, kUnavailable when the node has gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::http {

struct JobOrder {
  std::string id;  // empty: the node makes one
  std::string name;
  std::vector<std::string> command;
  std::string folder;                              // empty: the user's home
  std::map<std::string, std::string> environment;  // beside the node's own
  std::map<std::string, double> resources;
  std::uint32_t replicas = 1;
  std::uint32_t max_processes = 0;
  std::uint32_t max_files = 0;
  std::int32_t priority = 0;
  std::optional<double> deadline_seconds;  // nullopt: none
  std::optional<double> grace_seconds;     // nullopt: the node's usual time
  std::string runtime_env;                 // JSON; empty: none
  std::string metadata;                    // JSON; empty: none
};

// A job's output, from a place on.
struct LogPlace {
  std::uint32_t replica = 0;
  std::uint8_t stream = 0;  // 1: standard output, 2: standard error, 0: both, of all replicas, in no order between them
  std::uint64_t offset = 0;
};

struct LogPiece {
  std::uint32_t replica = 0;
  std::uint8_t stream = 1;
  std::uint64_t offset = 0;   // of its first byte
  std::uint64_t missing = 0;  // bytes before it that are gone
  std::string bytes;
};

struct LogPieces {
  std::vector<LogPiece> pieces;
  bool ended = false;  // with the job
};

class LogReader {
 public:
  using Callback = std::function<void(Result<LogPieces>)>;
  virtual ~LogReader() = default;
  // `wait`: answered once there is something, or the end. One question at a time.
  virtual void next(bool wait, Callback callback) = 0;
};

class JobService {
 public:
  using Callback = std::function<void(Result<std::string>)>;  // JSON
  virtual ~JobService() = default;

  virtual void submit(JobOrder order, Callback callback) = 0;      // an object
  virtual void get(const std::string& id, Callback callback) = 0;  // an array; an empty id means all
  virtual void stop(const std::string& id, Callback callback) = 0;
  virtual void remove(const std::string& id, Callback callback) = 0;
  virtual std::unique_ptr<LogReader> read_log(const std::string& id, LogPlace place) = 0;
};

}  // namespace fray::http
