#include "client/output/worker_output.h"

#include <utility>

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kDrainLimit = 1s;  // how long to wait for one answer of the node at the end of a program
constexpr int kMostDrainRounds = 50;
constexpr auto kExitPatience = 5s;  // how long to wait at the exit for a reader of the output that has stopped reading
// The same for lines behind the last ones. Short, for Ctrl-C cannot end it, and may just have ended the longer wait.
constexpr auto kLastLines = 500ms;
}  // namespace

void WorkerOutput::arrived(wire::Log log) {
  ++logs_seen_;
  logs_.push_back(std::move(log));
}

void WorkerOutput::deliver(bool all) {
  if (logs_.empty() && folder_.is_empty() && !held_) return;
  const Clock::time_point now = Clock::now();
  std::vector<wire::Log> logs = folder_.take_due(now);
  for (wire::Log& log : std::exchange(logs_, {})) {
    wire::Log shown = fold_ ? folder_.pass(std::move(log), now) : std::move(log);
    if (!shown.text.empty()) logs.push_back(std::move(shown));
  }
  if (all) {
    for (wire::Log& log : folder_.take_all()) logs.push_back(std::move(log));
  }
  if (writer_ == nullptr) return;
  for (wire::Log& log : logs) writer_->add(std::move(log));
  hold();
}

// Tells the node whether workers have to wait in `print`.
void WorkerOutput::hold() {
  const bool hold = writer_->wants_less(held_);
  NodeLink& link = connection_.link();
  if (hold == held_ || !link.is_open()) return;
  held_ = hold;
  link.send(hold ? wire::ControlType::kHoldOutput : wire::ControlType::kTakeOutput);
  link.flush();
}

// A worker's last lines reach the node before its result reaches this client. The node sends them with the answer after
// the next one, or with later answers when there are many. So this asks until an answer brings no more lines.
void WorkerOutput::drain(WaitHooks& hooks) {
  for (int round = 0; round < kMostDrainRounds && connection_.is_open(); ++round) {
    std::uint64_t seen = 0;
    {
      ClientLock lock(mutex_);
      seen = logs_seen_;
    }
    if (!connection_.ask_for_status(Clock::now() + kDrainLimit, hooks).is_ok()) return;
    ClientLock lock(mutex_);
    if (round > 0 && logs_seen_ == seen) break;
  }
  {
    ClientLock lock(mutex_);
    deliver(true);
  }
  if (writer_ == nullptr) return;
  hooks.before_sleep();
  writer_->finish(kExitPatience, [&hooks] {
    hooks.after_sleep();
    const bool goes_on = !hooks.interrupted();
    hooks.before_sleep();
    return goes_on;
  });
  hooks.after_sleep();
}

void WorkerOutput::end() {
  {
    ClientLock lock(mutex_);
    deliver(true);
  }
  if (writer_ == nullptr) return;
  const Clock::time_point latest = Clock::now() + kLastLines;
  writer_->finish(kExitPatience, [latest] { return Clock::now() < latest; });
}

}  // namespace fray::client
