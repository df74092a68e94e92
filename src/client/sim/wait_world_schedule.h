// WaitSchedule: runs simulated threads one at a time, in an order that a seed decides, under a simulated clock.
//
//   WaitSchedule schedule(seed);
//   schedule.add("waiter", [&] { ... schedule.step(); ... });
//   schedule.run([&](TimePoint next) { ... });     // called when no thread can run, before the clock moves to `next`
//
// The bodies call step() where another thread may run in between, and block() to wait. With half of the seeds, each
// step chooses the next thread at random. With the other half, each thread has a priority, and a few random steps
// change that of the running thread; this finds the faults that appear only when a thread does not run for a long time.
//
// Threading:  one thread; each simulated thread is a fiber (client/sim/wait_world_fiber.h).
// Ownership:  owns the fibers.
// Failure:    fail() notes a violation and lets all threads continue without sleeping, so that they can end; run() then
//             throws the violation. A deadlock, and threads that run without end, are violations as well.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/sim/simulation.h"
#include "client/sim/wait_world_fiber.h"

namespace fray::client {

class WaitSchedule {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit WaitSchedule(std::uint64_t seed);
  ~WaitSchedule();

  void add(std::string_view name, std::function<void()> body);
  void run(std::function<void(TimePoint next)> at_rest);

  // ---- For bodies ----
  static WaitSchedule& current();
  TimePoint now() const { return now_; }
  SimulationRandom& random() { return random_; }
  // Lets other threads run.
  void step();
  // Blocks until `ready` returns true. Returns false when the moment `until` came first, or `alarm`, which other
  // threads may change meanwhile. After a violation the call does not block, unless it is `firm`.
  bool block(FunctionRef<bool()> ready, TimePoint until, bool firm = false, const TimePoint* alarm = nullptr);
  void pause(std::chrono::microseconds span);
  // Moves the clock on as if the thread had computed for that time.
  void spend(std::chrono::microseconds span) { now_ += span; }
  std::size_t self() const { return running_; }
  void fail(std::string what);
  bool has_failed() const { return !violation_.empty(); }

 private:
  struct Thread {
    std::string name;
    std::function<void()> body;
    const FunctionRef<bool()>* ready = nullptr;  // the condition for which the thread blocks
    TimePoint until{};
    const TimePoint* alarm = nullptr;
    bool firm = false;
    bool done = false;
    int priority = 0;
    std::unique_ptr<Fiber> fiber;

    TimePoint wakes_at() const { return alarm == nullptr ? until : std::min(until, *alarm); }
  };

  bool can_run(const Thread& thread) const;
  std::size_t next();  // the thread that runs next; moves the clock on when no thread can run
  std::size_t choose(const std::vector<std::size_t>& able);
  void run_one();
  void hand_over(std::size_t to);
  bool let_time_pass();

  SimulationRandom random_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::function<void(TimePoint)> at_rest_;
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  std::size_t running_ = 0;
  std::uint32_t switch_percent_ = 0;  // 0 when priorities decide
  std::vector<std::uint64_t> change_at_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_since_rest_ = 0;
  std::string violation_;
  Fiber home_;  // the fiber of run()
};

}  // namespace fray::client
