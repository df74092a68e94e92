#include "client/sim/wait_world_schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fray::client {

namespace {
constexpr std::uint64_t kMostStepsAtOnce = 20'000;  // without that all came to rest
constexpr std::uint64_t kUsualSteps = 400;
constexpr std::size_t kChanges = 4;  // of priorities
WaitSchedule* current_schedule = nullptr;
}  // namespace

WaitSchedule::WaitSchedule(std::uint64_t seed) : random_(seed) {
  current_schedule = this;
  static constexpr std::uint32_t kPercents[] = {5, 20, 50, 0, 0, 0};
  switch_percent_ = kPercents[random_.below(std::size(kPercents))];
  for (std::size_t i = 0; i < kChanges; ++i) change_at_.push_back(random_.below(kUsualSteps));
}

WaitSchedule::~WaitSchedule() { current_schedule = nullptr; }

WaitSchedule& WaitSchedule::current() { return *current_schedule; }

void WaitSchedule::add(std::string_view name, std::function<void()> body) {
  auto thread = std::make_unique<Thread>();
  thread->name = name;
  thread->body = std::move(body);
  thread->priority = static_cast<int>(random_.below(1'000'000)) + 1;
  threads_.push_back(std::move(thread));
}

void WaitSchedule::run(std::function<void(TimePoint)> at_rest) {
  at_rest_ = std::move(at_rest);
  for (const auto& thread : threads_) thread->fiber = std::make_unique<Fiber>([this] { run_one(); });
  running_ = next();
  threads_[running_]->fiber->enter(home_);
  if (has_failed()) throw SimulationViolation(violation_);
}

// On its own fiber, which is never entered again.
void WaitSchedule::run_one() {
  Thread& self = *threads_[running_];
  self.body();
  self.done = true;
  if (std::ranges::all_of(threads_, [](const auto& thread) { return thread->done; })) return home_.enter(*self.fiber);
  running_ = next();
  threads_[running_]->fiber->enter(*self.fiber);
}

bool WaitSchedule::can_run(const Thread& thread) const {
  return !thread.done && (thread.ready == nullptr || (*thread.ready)() || thread.wakes_at() <= now_);
}

std::size_t WaitSchedule::choose(const std::vector<std::size_t>& able) {
  if (switch_percent_ > 0 || has_failed()) return able[random_.below(able.size())];
  return *std::ranges::max_element(able, {}, [this](std::size_t each) { return threads_[each]->priority; });
}

std::size_t WaitSchedule::next() {
  while (true) {
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (can_run(*threads_[i])) able.push_back(i);
    }
    if (!able.empty()) return choose(able);
    if (let_time_pass()) continue;
    FRAY_CHECK(!has_failed(), "threads wait for each other after a violation");
    fail("no thread can ever run again");
  }
}

bool WaitSchedule::let_time_pass() {
  TimePoint next = TimePoint::max();
  for (const auto& thread : threads_) {
    if (!thread->done) next = std::min(next, thread->wakes_at());
  }
  if (next == TimePoint::max()) return false;
  if (!has_failed()) at_rest_(next);
  steps_since_rest_ = 0;
  now_ = std::max(now_, next);
  return true;
}

void WaitSchedule::hand_over(std::size_t to) {
  const std::size_t from = running_;
  if (to == from) return;
  running_ = to;
  threads_[to]->fiber->enter(*threads_[from]->fiber);
}

void WaitSchedule::step() {
  ++steps_;
  if (++steps_since_rest_ > kMostStepsAtOnce) fail("threads run without end");
  if (std::ranges::find(change_at_, steps_) != change_at_.end())
    threads_[running_]->priority = -static_cast<int>(steps_);
  if (has_failed() || switch_percent_ == 0 || random_.percent(switch_percent_)) hand_over(next());
}

bool WaitSchedule::block(FunctionRef<bool()> ready, TimePoint until, bool firm, const TimePoint* alarm) {
  if (has_failed() && !firm) {
    step();
    return ready();
  }
  if (ready()) return true;
  Thread& self = *threads_[running_];
  self.ready = &ready;
  self.until = until;
  self.alarm = alarm;
  self.firm = firm;
  hand_over(next());
  self.ready = nullptr;
  self.alarm = nullptr;
  return ready();
}

void WaitSchedule::pause(std::chrono::microseconds span) {
  block([] { return false; }, now_ + span);
}

void WaitSchedule::fail(std::string what) {
  if (has_failed()) return;
  violation_ = std::move(what);
  for (const auto& thread : threads_) {
    if (!thread->firm) thread->until = now_;
  }
  steps_since_rest_ = 0;
}

}  // namespace fray::client
