// LogFollower: reads a job's output from a given offset on while the job writes it, until the job ends. When a
// connection breaks, it opens another one.
//
//   LogFollower log(jobs, id, 0);
//   while (true) {
//     FRAY_ASSIGN_OR_RETURN(auto event, log.next(&text, 1s));
//     if (event == LogFollower::Event::kText) print(text);
//     if (event == LogFollower::Event::kEnd) break;
//   }
//
// Ray sends a log from its beginning on each connection and knows no offsets. So the follower counts the bytes that it
// has read, and skips as many when it connects again. The log is over when the cluster says that the job has ended; the
// end of a connection alone says nothing.
//
// Threading:  one thread. next() blocks for `patience`, and while it connects as long as exchange() does.
// Ownership:  owns its connection; `jobs` must outlive it.
// Failure:    when the first connection fails, next() says so at once; the same holds for kNotFound and
//             kPermissionDenied. When a lost cluster cannot be reached for kGiveUp, next() returns kUnavailable with
//             the offset from which the log can be continued. The job itself may still run then.
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
  // The offset of the next byte of the log; it counts the bytes before the place where the reading began, too.
  std::uint64_t offset() const { return offset_; }
  // The job as the cluster described it when the log was over.
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
  std::uint64_t passed_ = 0;  // bytes of the log that the present connection has sent
  std::unique_ptr<LogSocket> socket_;
  std::optional<JobDetails> job_;
  bool rest_read_ = false;
  bool was_connected_ = false;
  Clock::time_point last_sign_ = Clock::now();
  std::chrono::milliseconds pause_{0};
};

}  // namespace fray::ray
