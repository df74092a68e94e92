#include "node/workers/worker_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "os/clock.h"
#include "os/process/process_facts.h"
#include "scheduler/lease_table.h"

namespace fray::node {

namespace {
constexpr std::chrono::milliseconds kShortestPause{100};
constexpr std::chrono::milliseconds kLongestPause{2000};
constexpr std::uint64_t kSeekStopsNs = 1'000'000'000;
constexpr std::uint64_t kTellAfterNs = 2'000'000'000;
}  // namespace

WorkerWatch::WorkerWatch(event::Loop& loop, WorkerProcesses& processes, const scheduler::LeaseTable& table,
                         const actor::ActorTable& actors, double memory_threshold, Say say, TellMemory tell_memory)
    : loop_(loop),
      processes_(processes),
      table_(table),
      say_(std::move(say)),
      tell_memory_(std::move(tell_memory)),
      memory_(processes, table, actors, memory_threshold) {}

void WorkerWatch::follow_leases() {
  std::size_t now = table_.ledger().leases().size();
  if (now == std::exchange(leases_, now)) return;
  if (now == 0) {
    loop_.cancel(std::exchange(timer_, 0));
  } else if (timer_ == 0 || pause_ > kShortestPause) {
    plan(kShortestPause);
  }
}

void WorkerWatch::plan(std::chrono::milliseconds pause) {
  loop_.cancel(timer_);
  pause_ = pause;
  timer_ = loop_.after(pause, [this] {
    timer_ = 0;
    look();
  });
}

void WorkerWatch::look() {
  bool works = somebody_works();
  if (works) tell_memory_(memory_.look());
  if (os::monotonic_ns() - stops_sought_ns_ >= kSeekStopsNs) {
    look_for_stops();
    tell_of_stops();
  }
  plan(works ? kShortestPause : std::min(2 * pause_, kLongestPause));
}

bool WorkerWatch::somebody_works() const {
  const auto& leases = table_.ledger().leases();
  return std::any_of(leases.begin(), leases.end(), [this](const auto& lease) {
    auto worker = processes_.workers().find(lease.second.worker);
    return worker != processes_.workers().end() && worker->second.view()->runs_a_task();
  });
}

void WorkerWatch::look_for_stops() {
  stops_sought_ns_ = os::monotonic_ns();
  std::erase_if(stops_, [this](const auto& stop) { return !processes_.workers().contains(stop.first); });
  for (const auto& [process, worker] : processes_.workers()) {
    if (worker.pid == 0 || !os::is_stopped(worker.pid)) {
      stops_.erase(process);
    } else {
      stops_.try_emplace(process, Stop{os::monotonic_ns(), false});
    }
  }
}

// Only leased workers matter: a client waits for them.
void WorkerWatch::tell_of_stops() {
  for (const auto& [id, lease] : table_.ledger().leases()) {
    auto stop = stops_.find(lease.worker);
    if (stop == stops_.end() || stop->second.told || os::monotonic_ns() - stop->second.since_ns < kTellAfterNs)
      continue;
    stop->second.told = true;
    std::int32_t pid = processes_.workers().at(lease.worker).pid;
    say_(lease.worker, fmt::format("this worker is stopped, by a signal or a debugger, and its tasks wait; "
                                   "`kill -CONT {}` lets it go on",
                                   pid));
  }
}

std::uint64_t WorkerWatch::stopped_since_ns(ProcessId worker) const {
  auto found = stops_.find(worker);
  return found == stops_.end() ? 0 : found->second.since_ns;
}

}  // namespace fray::node
