#include "scheduler/worker_table.h"

#include <algorithm>
#include <utility>

namespace fray::scheduler {

namespace {
bool is_given_up(const KeyInfo& info) {
  return info.failures >= WorkerTable::kStartAttempts || info.unused_deaths >= WorkerTable::kUnusedDeaths;
}
}  // namespace

void WorkerTable::start_asked(WorkerKeyId key) {
  ++keys_[key].asked;
  ++asked_;
}

bool WorkerTable::starting(ProcessId worker, WorkerKeyId key) {
  if (worker == 0 || workers_.contains(worker)) return false;
  KeyInfo& info = keys_[key];
  const bool expected = info.asked > 0;
  if (expected) {
    --info.asked;
    --asked_;
  }
  ++info.starting;
  workers_.emplace(worker, Worker{.key = key});
  ++counts_[static_cast<std::size_t>(WorkerState::kStarting)];
  return expected;
}

bool WorkerTable::ready(ProcessId worker) {
  Worker* entry = find(worker);
  if (entry == nullptr || entry->state != WorkerState::kStarting) return false;
  KeyInfo& info = keys_[entry->key];
  --info.starting;
  info.failures = 0;
  make_idle(worker, *entry);
  return true;
}

bool WorkerTable::start_failed(WorkerKeyId key) {
  KeyInfo& info = keys_[key];
  if (info.asked == 0) return false;
  ++info.failures;
  --info.asked;
  --asked_;
  return true;
}

void WorkerTable::forgive(WorkerKeyId key) {
  auto found = keys_.find(key);
  if (found == keys_.end()) return;
  KeyInfo& info = found->second;
  info.failures = std::min(info.failures, kStartAttempts - 1);
  if (std::exchange(info.deaths_are_told, false)) info.unused_deaths = std::min(info.unused_deaths, kUnusedDeaths - 1);
}

void WorkerTable::told(WorkerKeyId key) { keys_[key].deaths_are_told = true; }

void WorkerTable::used(WorkerKeyId key) { keys_[key].last_use = ++uses_; }

void WorkerTable::forget_key(WorkerKeyId key) {
  auto found = keys_.find(key);
  if (found == keys_.end() || !found->second.idle.empty() || found->second.on_their_way() > 0) return;
  const bool in_use =
      std::any_of(workers_.begin(), workers_.end(), [key](const auto& entry) { return entry.second.key == key; });
  if (!in_use) keys_.erase(found);
}

void WorkerTable::lease(ProcessId worker, LeaseId lease, bool dedicated) {
  Worker* entry = find(worker);
  if (entry == nullptr) return;
  remove_idle(worker, entry->key);
  enter(*entry, WorkerState::kLeased);
  if (!entry->doomed) ++keys_[entry->key].leased;
  entry->lease = lease;
  entry->dedicated = dedicated;
  if (dedicated) ++dedicated_;
  used(entry->key);
}

void WorkerTable::release(ProcessId worker) {
  Worker* entry = find(worker);
  if (entry == nullptr || entry->state != WorkerState::kLeased) return;
  entry->lease = 0;
  KeyInfo& info = keys_[entry->key];
  if (!entry->doomed) --info.leased;
  info.unused_deaths = 0;
  make_idle(worker, *entry);
}

void WorkerTable::doom(ProcessId worker, bool dying) {
  Worker* entry = find(worker);
  if (entry == nullptr) return;
  if (!entry->doomed && entry->state == WorkerState::kLeased) --keys_[entry->key].leased;
  entry->doomed = true;
  entry->dying |= dying;
  if (entry->state != WorkerState::kIdle) return;
  remove_idle(worker, entry->key);
  enter(*entry, WorkerState::kEnding);
}

bool WorkerTable::left(ProcessId worker, bool unused) {
  Worker* entry = find(worker);
  if (entry == nullptr) return false;
  if (entry->state == WorkerState::kIdle) remove_idle(worker, entry->key);
  if (entry->state == WorkerState::kStarting) {
    KeyInfo& info = keys_[entry->key];
    --info.starting;
    ++info.failures;
  }
  if (entry->state == WorkerState::kLeased) {
    KeyInfo& info = keys_[entry->key];
    if (!entry->doomed) --info.leased;
    if (!entry->dedicated) info.unused_deaths = unused ? info.unused_deaths + 1 : 0;
  }
  if (entry->dedicated) --dedicated_;
  --counts_[static_cast<std::size_t>(entry->state)];
  workers_.erase(worker);
  return true;
}

Worker* WorkerTable::find(ProcessId worker) {
  auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : &found->second;
}

const Worker* WorkerTable::find(ProcessId worker) const {
  auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : &found->second;
}

const KeyInfo& WorkerTable::key(WorkerKeyId key) const {
  static const KeyInfo kNothing;
  auto found = keys_.find(key);
  return found == keys_.end() ? kNothing : found->second;
}

bool WorkerTable::given_up(WorkerKeyId number) const { return is_given_up(key(number)); }

bool WorkerTable::is_hopeless(WorkerKeyId number) const {
  return given_up(number) && key(number).idle.empty() && key(number).on_their_way() == 0;
}

bool WorkerTable::any_given_up() const {
  return std::any_of(keys_.begin(), keys_.end(), [](const auto& each) { return is_given_up(each.second); });
}

std::uint32_t WorkerTable::living() const { return static_cast<std::uint32_t>(workers_.size()) + asked_ - dedicated_; }

std::uint32_t WorkerTable::serving(WorkerKeyId number) const {
  const auto born = std::count_if(workers_.begin(), workers_.end(), [number](const auto& entry) {
    return entry.second.key == number && !entry.second.doomed;
  });
  return static_cast<std::uint32_t>(born) + key(number).asked;
}

void WorkerTable::enter(Worker& entry, WorkerState state) {
  --counts_[static_cast<std::size_t>(entry.state)];
  ++counts_[static_cast<std::size_t>(state)];
  entry.state = state;
}

std::vector<WorkerKeyId> WorkerTable::recent_keys(std::size_t count) const {
  std::vector<std::pair<std::uint64_t, WorkerKeyId>> by_use;
  for (const auto& [key, info] : keys_) {
    if (!info.idle.empty()) by_use.emplace_back(info.last_use, key);
  }
  std::sort(by_use.rbegin(), by_use.rend());
  if (by_use.size() > count) by_use.resize(count);
  std::vector<WorkerKeyId> recent;
  for (const auto& [use, key] : by_use) recent.push_back(key);
  return recent;
}

void WorkerTable::remove_idle(ProcessId worker, WorkerKeyId key) { std::erase(keys_[key].idle, worker); }

void WorkerTable::make_idle(ProcessId worker, Worker& entry) {
  if (entry.doomed) {
    enter(entry, WorkerState::kEnding);
    return;
  }
  enter(entry, WorkerState::kIdle);
  entry.idle_since = now_;
  keys_[entry.key].idle.push_back(worker);
}

}  // namespace fray::scheduler
