#include "dashboard/growth.h"

#include <algorithm>

namespace fray::dashboard {

void Growth::add(double time, const std::map<Kind, Sum>& sums) {
  if (!begun_ || time - newest_ > kGap) {
    courses_.clear();
    step_began_ = time;
    begun_ = true;
  }
  newest_ = time;
  if (time - step_began_ >= kStep) {
    close_step(time);
    step_began_ = time;
  }
  std::erase_if(courses_, [&sums](const auto& each) { return !sums.contains(each.first); });
  for (const auto& [kind, sum] : sums) {
    auto found = courses_.find(kind);
    if (found == courses_.end()) {
      if (courses_.size() < kMostKinds) courses_[kind] = {time, time, sum, sum, sum};
      continue;
    }
    if (sum.bytes < found->second.present.bytes) found->second.present = sum;
  }
}

void Growth::close_step(double time) {
  for (auto& [kind, course] : courses_) {
    const bool has_fallen = course.present.bytes < course.least.bytes;
    const bool has_risen = course.present.bytes > course.least.bytes;
    if (has_fallen) {
      course.since = time;
      course.then = course.present;
    } else if (has_risen) {
      // It began to grow when it was last as small as it had been all the time.
      if (course.least.bytes == course.then.bytes) course.since = step_began_;
      course.rose = time;
    }
    course.least = course.present;
    course.present = {UINT64_MAX, UINT64_MAX};
  }
}

std::vector<Growth::Row> Growth::rows() const {
  std::vector<Row> rows;
  for (const auto& [kind, course] : courses_) {
    const Sum& now = course.least;
    if (now.bytes <= course.then.bytes || newest_ - course.rose > kFewestSeconds) continue;
    if (newest_ - course.since < kFewestSeconds) continue;
    const bool is_much = now.bytes - course.then.bytes >= kFewestBytes ||
                         (now.count > course.then.count && now.count - course.then.count >= kFewestObjects);
    if (is_much) rows.push_back({kind, course.since, newest_, course.then, now});
  }
  const auto speed = [](const Row& row) {
    return static_cast<double>(row.now.bytes - row.then.bytes) / (row.until - row.since);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return speed(a) > speed(b); });
  return rows;
}

}  // namespace fray::dashboard
