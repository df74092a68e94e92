#include "ray/log_follower.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace fray::ray {

namespace {

constexpr std::chrono::milliseconds kFirstReconnect{100};
constexpr std::chrono::milliseconds kLongestReconnect{5'000};
constexpr std::chrono::seconds kSilence{10};  // after it the cluster is asked for the job: the connection may be dead

bool is_final(StatusCode code) {
  return code != StatusCode::kUnavailable && code != StatusCode::kTimedOut && code != StatusCode::kInternal;
}

}  // namespace

// Leaves of a message the part that lies beyond the offset; false when there is none.
bool LogFollower::take_new(std::string& text) {
  const std::uint64_t begin = passed_;
  passed_ += text.size();
  if (passed_ <= offset_) {
    text.clear();
    return false;
  }
  if (begin < offset_) text.erase(0, offset_ - begin);
  offset_ = passed_;
  return true;
}

Status LogFollower::connect() {
  FRAY_ASSIGN_OR_RETURN(socket_, LogSocket::open(jobs_.endpoint(), Jobs::log_path(id_)));
  was_connected_ = true;
  passed_ = 0;
  last_sign_ = Clock::now();
  pause_ = std::chrono::milliseconds(0);
  return Status::ok();
}

Status LogFollower::look_at_job() {
  FRAY_ASSIGN_OR_RETURN(JobDetails job, jobs_.get(id_));
  last_sign_ = Clock::now();
  if (is_over(job.status)) job_ = std::move(job);
  return Status::ok();
}

// Reads the whole log once more after the job has ended, because a connection may close before all of it was sent.
Result<LogFollower::Event> LogFollower::read_rest(std::string* text) {
  if (std::exchange(rest_read_, true)) return Event::kEnd;
  socket_.reset();
  FRAY_ASSIGN_OR_RETURN(*text, jobs_.logs(id_));
  passed_ = 0;
  return take_new(*text) ? Event::kText : Event::kEnd;
}

Result<LogFollower::Event> LogFollower::read(std::string* text, std::chrono::milliseconds patience) {
  if (job_) return read_rest(text);
  if (!socket_) FRAY_RETURN_IF_ERROR(connect());
  FRAY_ASSIGN_OR_RETURN(LogSocket::Event event, socket_->read(text, patience));
  if (event == LogSocket::Event::kText) {
    last_sign_ = Clock::now();
    return take_new(*text) ? Event::kText : Event::kNothing;
  }
  if (event == LogSocket::Event::kClosed) {
    socket_.reset();
    FRAY_RETURN_IF_ERROR(look_at_job());
    // The connection was closed while the job runs, so another one is opened after a moment.
    if (!job_) return Status(StatusCode::kUnavailable, "the log was closed before the job was over");
    return read_rest(text);
  }
  if (Clock::now() - last_sign_ > kSilence) FRAY_RETURN_IF_ERROR(look_at_job());
  return Event::kNothing;
}

// Waits before the next try, for no longer than the caller's patience.
Result<LogFollower::Event> LogFollower::lost(const Status& why, std::chrono::milliseconds patience) {
  socket_.reset();
  if (is_final(why.code()) || !was_connected_) return why;
  if (Clock::now() - last_sign_ > kGiveUp) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("the log of job {} cannot be read for {} s: {}; the job itself may go on; follow it again "
                    "from offset {}",
                    id_, kGiveUp.count(), why.message(), offset_));
  }
  pause_ = std::clamp(pause_ * 2, kFirstReconnect, kLongestReconnect);
  std::this_thread::sleep_for(std::min(pause_, patience));
  return Event::kNothing;
}

Result<LogFollower::Event> LogFollower::next(std::string* text, std::chrono::milliseconds patience) {
  Result<Event> event = read(text, patience);
  if (event.is_ok()) return event;
  return lost(event.status(), patience);
}

}  // namespace fray::ray
