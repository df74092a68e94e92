#include "cluster/jobs.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fray::cluster {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{2'000};
constexpr milliseconds kSlice{100};  // between two checks for an interrupt

// Pauses; an error means that the caller must not go on.
Status sleep(milliseconds pause, const Patience& patience) {
  for (const auto end = Clock::now() + pause; Clock::now() < end;) {
    if (patience.interrupted && patience.interrupted()) return Status(StatusCode::kCancelled, "interrupted");
    if (patience.deadline && Clock::now() >= *patience.deadline) {
      return Status(StatusCode::kTimedOut, "the time is up");
    }
    auto left = std::min<std::chrono::nanoseconds>(kSlice, end - Clock::now());
    if (patience.deadline) left = std::min<std::chrono::nanoseconds>(left, *patience.deadline - Clock::now());
    std::this_thread::sleep_for(left);
  }
  return Status::ok();
}

}  // namespace

Result<Infos> wait_by_asking(Jobs& jobs, const Ids& ids, const Patience& patience) {
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    FRAY_ASSIGN_OR_RETURN(Infos infos, jobs.get(ids, patience));
    if (std::all_of(infos.begin(), infos.end(), [](const JobInfo& job) { return job.has_ended(); })) return infos;
    FRAY_RETURN_IF_ERROR(sleep(pause, patience));
  }
}

}  // namespace fray::cluster
