// WorkerTable: the worker processes that exist or were asked for, by worker key.
//
//            start_asked          starting         ready            lease             released
//   (none) ─────────────▶ asked ─────────▶ starting ─────▶ idle ───────────▶ leased ───────────▶ idle
//                           │ failed           │ left        │ end  ◀────────────┘ end (retiring or killed)
//                           ▼                  ▼             ▼
//                        (none)             (none)         ending ─── left ───▶ (none)
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  owns its entries; a Worker* is valid until that worker has left.
// Failure:    unknown workers are answered with nullptr or false; nothing changes then.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "scheduler/moment.h"

namespace fray::scheduler {

enum class WorkerState : std::uint8_t { kStarting, kIdle, kLeased, kEnding };

struct Worker {
  WorkerKeyId key = 0;
  WorkerState state = WorkerState::kStarting;
  bool doomed = false;     // retires, was told to end or is being killed: granted to nobody any more
  bool dying = false;      // is being killed, or its socket is closed: it ends whatever it does
  LeaseId lease = 0;       // while leased
  bool dedicated = false;  // the lease is one for an actor: it ends with the worker
  Moment idle_since{0};    // while idle
};

// What is known of one worker key.
struct KeyInfo {
  std::uint32_t asked = 0;  // StartWorker commands without an answer
  std::uint32_t starting = 0;
  std::uint32_t leased = 0;     // and not about to end
  std::vector<ProcessId> idle;  // the one that was idle last at the end: its caches are warm
  std::uint32_t failures = 0;   // starts that failed since the last one that did not
  // Workers that died unused while they were leased, since the last one that did not, or that came back from its lease.
  std::uint32_t unused_deaths = 0;
  bool deaths_are_told = false;  // a demand was refused for them
  std::uint64_t last_use = 0;

  std::uint32_t on_their_way() const { return asked + starting; }
};

class WorkerTable {
 public:
  // Failures in a row, or unused deaths, after which a key's demands are refused.
  static constexpr std::uint32_t kStartAttempts = 3;
  static constexpr std::uint32_t kUnusedDeaths = 10;

  void set_time(Moment now) { now_ = now; }
  void start_asked(WorkerKeyId key);
  // False when no start of this key was asked for; the worker is counted all the same.
  bool starting(ProcessId worker, WorkerKeyId key);
  bool ready(ProcessId worker);
  bool start_failed(WorkerKeyId key);
  // Gives a key that was given up one more attempt, as somebody asks for its workers. After unused deaths it does so only
  // once they were told, because each death has its client ask for another worker.
  void forgive(WorkerKeyId key);
  void told(WorkerKeyId key);  // a demand was refused
  void used(WorkerKeyId key);
  // Without effect while there are workers of it.
  void forget_key(WorkerKeyId key);

  void lease(ProcessId worker, LeaseId lease, bool dedicated);
  void release(ProcessId worker);  // becomes idle, or ending when doomed
  // Nothing is granted to it any more; an idle one is now ending.
  void doom(ProcessId worker, bool dying);
  // `unused`: see LeaseTable::worker_left().
  bool left(ProcessId worker, bool unused);

  Worker* find(ProcessId worker);
  const Worker* find(ProcessId worker) const;
  const std::map<WorkerKeyId, KeyInfo>& keys() const { return keys_; }
  const KeyInfo& key(WorkerKeyId key) const;
  bool given_up(WorkerKeyId key) const;
  bool any_given_up() const;
  // Given up, and none is left or on its way.
  bool is_hopeless(WorkerKeyId key) const;
  // Those asked for included, dedicated ones not.
  std::uint32_t living() const;
  std::uint32_t leased() const { return count(WorkerState::kLeased) - dedicated_; }  // dedicated ones not
  std::uint32_t serving(WorkerKeyId key) const;  // of this key, those asked for included, without the doomed
  std::uint32_t count(WorkerState state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::uint32_t asked() const { return asked_; }
  // Keys that have idle workers, the one used last first, at most `count`.
  std::vector<WorkerKeyId> recent_keys(std::size_t count) const;

 private:
  void remove_idle(ProcessId worker, WorkerKeyId key);
  void make_idle(ProcessId worker, Worker& entry);
  void enter(Worker& entry, WorkerState state);

  std::unordered_map<ProcessId, Worker> workers_;
  std::map<WorkerKeyId, KeyInfo> keys_;
  std::uint32_t asked_ = 0;
  std::uint32_t dedicated_ = 0;
  std::array<std::uint32_t, 4> counts_{};  // by state
  std::uint64_t uses_ = 0;
  Moment now_{0};
};

}  // namespace fray::scheduler
