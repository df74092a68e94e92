// IdleWatch: tells whether a process uses its CPU while one of its threads or coroutines waits for values of others.
//
//   IdleWatch watch;
//   watch.restart(now_ns, cpu_ns);
//   if (watch.look(now_ns, cpu_ns)) ...      // a while later: the process is idle, its CPU may go to others
//
// Fray cannot see what the threads of a task wait for: a thread may join another, an event loop sleeps in its select.
// But it can see whether the process computes. A process that uses less than a quarter of a CPU for one window is idle;
// one that uses more than half of one is busy again. When a wait has lasted for kPatienceNs the process counts as idle
// even if it computes: it may be spinning until the wait ends, and the task that would end it may need the very CPU
// that it spins on.
//
// Threading:  one thread.
// Ownership:  values only.
// Failure:    none.
#pragma once

#include <cstdint>

namespace fray::worker {

class IdleWatch {
 public:
  static constexpr std::uint64_t kWindowNs = 5'000'000;
  static constexpr std::uint64_t kPatienceNs = 2'000'000'000;

  // Called when the first wait begins.
  void restart(std::uint64_t now_ns, std::uint64_t cpu_ns);
  // Called when a wait has ended: the process may compute now, so what was seen before says nothing.
  void look_again(std::uint64_t now_ns, std::uint64_t cpu_ns);
  // Whether the process is idle. `cpu_ns`: what it has used since it began.
  bool look(std::uint64_t now_ns, std::uint64_t cpu_ns);
  // Whether another look soon could give another answer than the last one.
  bool is_undecided() const { return undecided_; }

 private:
  void open_window(std::uint64_t now_ns, std::uint64_t cpu_ns);

  std::uint64_t since_ns_ = 0;
  std::uint64_t window_ns_ = 0;
  std::uint64_t window_cpu_ns_ = 0;
  bool idle_ = false;
  bool undecided_ = true;
};

}  // namespace fray::worker
