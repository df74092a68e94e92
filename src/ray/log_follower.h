// LogFollower: a job's output as it comes, from a place on, to the job's end, over as many connections as it takes.
//
//   LogFollower log(jobs, id, 0);
//   while (true) {
//     FRAY_ASSIGN_OR_RETURN(auto event, log.next(&text, 1s));
//     if (event == LogFollower::Event::kText) print(text);
//     if (event == LogFollower::Event::kEnd) break;
//   }
//
// Ray sends a log from its beginning on each connection and has no offsets: what was read is counted in bytes and passed
// over when a cut connection is made anew. The end is the cluster's word that the job is over, not the end of a connection.
//
// Threading:  one thread; next() blocks for `patience`, and while it connects as exchange() does.
// Ownership:  owns its connection; `jobs` must outlive it.
// Failure:    a first connection that fails is told at once, and so are kNotFound and kPermissionDenied. When the cluster
//             cannot be reached again for kGiveUp, kUnavailable with the offset to go on from: the job itself may go on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ray/jobs.h"
#include "ray/log_socket.h"

namespace fray::ray {

class LogFollower {
 public:
  enum class Event { kText, kNothing, kEnd };
  static constexpr std::chrono::seconds kGiveUp{60};

  LogFollower(const Jobs& jobs, std::string id, std::uint64_t offset)
      : jobs_(jobs), id_(std::move(id)), offset_(offset) {}

  Result<Event> next(std::string* text, std::chrono::milliseconds patience);
  // Bytes of the log that were read, those before the first one included.
  std::uint64_t offset() const { return offset_; }
  // As the cluster said at the end.
  const std::optional<JobDetails>& job() const { return job_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status connect();
  Result<Event> read(std::string* text, std::chrono::milliseconds patience);
  Result<Event> read_rest(std::string* text);
  bool take_new(std::string& text);
  Status look_at_job();
  Result<Event> lost(const Status& why, std::chrono::milliseconds patience);

  const Jobs& jobs_;
  const std::string id_;
  std::uint64_t offset_;
  std::uint64_t passed_ = 0;  // bytes that this connection has sent
  std::unique_ptr<LogSocket> socket_;
  std::optional<JobDetails> job_;
  bool rest_read_ = false;
  bool was_connected_ = false;
  Clock::time_point last_sign_ = Clock::now();
  std::chrono::milliseconds pause_{0};
};

}  // namespace fray::ray
