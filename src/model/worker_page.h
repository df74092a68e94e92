// WorkerPage: the task that a worker runs, published in shared memory without a system call.
//
//   byte   0        8       12        16          24        28         32               160
//          +--------+-------+---------+-----------+---------+----------+-----------------+
//          | task   | state | version | started   | depth   | caller   | name, 0-ended   |
//          +--------+-------+---------+-----------+---------+----------+-----------------+
//   from byte 160: a slot of 24 bytes for each caller of an actor: its process number, the number of the last call
//   of it that was started (calls of one caller start in ascending order), and of the last that ended (by actors that
//   run one call at a time).
//
// Threading:  one thread of the worker writes; any process that maps the page reads. `version` is a seqlock over task,
//             started, caller and name: odd while they change. Bytes of the name are relaxed atomics, as a seqlock needs.
// Ownership:  none; lies in a page that both processes map.
// Failure:    a reader that meets a writer too often, or a worker that died while writing, gets what it last saw, cut
//             at the first zero. The writer may be hostile: name() never reads past the field.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fray {

enum class WorkerState : std::uint32_t { kStarting = 0, kIdle = 1, kRunning = 2, kBlocked = 3, kStopping = 4 };

struct WorkerPage {
  static constexpr std::size_t kNameBytes = 128;

  std::atomic<std::uint64_t> task_number{0};
  std::atomic<WorkerState> state{WorkerState::kStarting};
  std::atomic<std::uint32_t> version{0};
  std::atomic<std::uint64_t> started_ns{0};  // CLOCK_MONOTONIC
  std::atomic<std::uint32_t> depth{0};
  std::atomic<std::uint32_t> caller{0};  // the process that has numbered the task
  std::atomic<char> name[kNameBytes] = {};
  struct Caller {
    std::atomic<std::uint32_t> client{0};  // 0: a free slot
    std::atomic<std::uint32_t> reserved{0};
    std::atomic<std::uint64_t> last_started{0};
    std::atomic<std::uint64_t> last_ended{0};
  };
  static constexpr std::uint32_t kCallers = 128;
  Caller callers[kCallers];

  // The worker's side.
  void begin_task(std::uint64_t number, std::string_view task_name, std::uint64_t now_ns, std::uint32_t task_depth = 0,
                  std::uint32_t task_caller = 0) {
    std::uint32_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    task_number.store(number, std::memory_order_relaxed);
    started_ns.store(now_ns, std::memory_order_relaxed);
    depth.store(task_depth, std::memory_order_relaxed);
    caller.store(task_caller, std::memory_order_relaxed);
    std::size_t size = task_name.size() < kNameBytes - 1 ? task_name.size() : kNameBytes - 1;
    for (std::size_t i = 0; i < size; ++i) name[i].store(task_name[i], std::memory_order_relaxed);
    name[size].store('\0', std::memory_order_relaxed);
    version.store(before + 2, std::memory_order_release);
    state.store(WorkerState::kRunning, std::memory_order_release);
  }
  void caller_joined(std::uint32_t slot, std::uint32_t client) {
    callers[slot].last_started.store(0, std::memory_order_relaxed);
    callers[slot].last_ended.store(0, std::memory_order_relaxed);
    callers[slot].client.store(client, std::memory_order_release);
  }
  void caller_left(std::uint32_t slot) { callers[slot].client.store(0, std::memory_order_release); }
  void call_started(std::uint32_t slot, std::uint64_t number) {
    callers[slot].last_started.store(number, std::memory_order_release);
  }
  void call_ended(std::uint32_t slot, std::uint64_t number) {
    callers[slot].last_ended.store(number, std::memory_order_release);
  }
  void end_task() { state.store(WorkerState::kIdle, std::memory_order_release); }

  // A reader's side.
  bool runs_a_task() const {
    WorkerState now = state.load(std::memory_order_acquire);
    return now == WorkerState::kRunning || now == WorkerState::kBlocked;
  }
  // Empty when no task runs.
  std::string running_task() const { return runs_a_task() ? task_name() : std::string(); }
  std::string task_name() const {
    constexpr int kAttempts = 100'000;  // some milliseconds: a writer may be off its core
    std::string text;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::uint32_t before = version.load(std::memory_order_acquire);
      text.clear();
      for (const std::atomic<char>& letter : name) {
        char read = letter.load(std::memory_order_relaxed);
        if (read == '\0') break;
        text.push_back(read);
      }
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version.load(std::memory_order_relaxed) == before) break;
    }
    return text;
  }
};
static_assert(sizeof(WorkerPage) == 160 + 24 * WorkerPage::kCallers);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace fray
