// WaitSchedule: threads of which one runs at a time, in an order that a seed decides, under a clock of its own.
//
//   WaitSchedule schedule(seed);
//   schedule.add("waiter", [&] { ... schedule.step(); ... });
//   schedule.run([&](TimePoint next) { ... });     // called whenever nobody can run, before time goes on to `next`
//
// The bodies call step() wherever another thread may come between, and block() to wait. Half of the seeds choose at random
// at each step; the other half give each thread a priority and change the running thread's at a few random steps, which
// finds what only a thread that is kept waiting for long shows.
//
// Threading:  one thread; what is called a thread here is a fiber (client/sim/wait_world_fiber.h).
// Ownership:  owns the fibers.
// Failure:    fail() notes a violation and lets all go on without sleeping, so that they can end; run() then throws it.
//             Threads of which none can run any more, and those that run without end, are violations as well.
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
  // Others may run here.
  void step();
  // Until `ready`; false: `until` came first, or `alarm`, which others may change meanwhile. It always waits if `firm`,
  // otherwise not after a violation.
  bool block(FunctionRef<bool()> ready, TimePoint until, bool firm = false, const TimePoint* alarm = nullptr);
  void pause(std::chrono::microseconds span);
  // The thread computes for so long.
  void spend(std::chrono::microseconds span) { now_ += span; }
  std::size_t self() const { return running_; }
  void fail(std::string what);
  bool has_failed() const { return !violation_.empty(); }

 private:
  struct Thread {
    std::string name;
    std::function<void()> body;
    const FunctionRef<bool()>* ready = nullptr;  // what it is blocked on
    TimePoint until{};
    const TimePoint* alarm = nullptr;
    bool firm = false;
    bool done = false;
    int priority = 0;
    std::unique_ptr<Fiber> fiber;

    TimePoint wakes_at() const { return alarm == nullptr ? until : std::min(until, *alarm); }
  };

  bool can_run(const Thread& thread) const;
  std::size_t next();  // whose turn it is; lets time go on if need be
  std::size_t choose(const std::vector<std::size_t>& able);
  void run_one();
  void hand_over(std::size_t to);
  bool let_time_pass();

  SimulationRandom random_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::function<void(TimePoint)> at_rest_;
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  std::size_t running_ = 0;
  std::uint32_t switch_percent_ = 0;  // 0: by priorities
  std::vector<std::uint64_t> change_at_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_since_rest_ = 0;
  std::string violation_;
  Fiber home_;  // of run()
};

}  // namespace fray::client
