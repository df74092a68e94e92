#include "node/workers/worker_keys.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "os/clock.h"

namespace fray::node {

WorkerKeyId WorkerKeys::define(ProcessId client, std::uint32_t number, const wire::WorkerKey& description) {
  const WorkerKeyId key = processes_.define(description);
  ++definitions_[key];
  const auto [slot, is_new] = keys_.try_emplace({client, number}, key);
  if (!is_new) undefine(std::exchange(slot->second, key));
  changed_ = true;
  return key;
}

void WorkerKeys::define_own(ProcessId process, WorkerKeyId key) {
  if (keys_.try_emplace({process, 0}, key).second) ++definitions_[key];
}

Result<WorkerKeyId> WorkerKeys::find(ProcessId client, std::uint32_t number) const {
  auto key = keys_.find({client, number});
  if (key != keys_.end()) return key->second;
  return Status(StatusCode::kInvalidArgument, "a message names a worker key that was not defined");
}

void WorkerKeys::forget(ProcessId client, std::uint32_t number) {
  auto found = keys_.find({client, number});
  if (found == keys_.end()) return;
  undefine(found->second);
  keys_.erase(found);
}

void WorkerKeys::client_left(ProcessId client) {
  auto each = keys_.lower_bound({client, 0});
  while (each != keys_.end() && each->first.first == client) {
    undefine(each->second);
    each = keys_.erase(each);
  }
  changed_ = true;
}

// A key that no client uses any more is forgotten as soon as it has no fork server. The fork server of an unused key
// ends some time after its last use.
void WorkerKeys::undefine(WorkerKeyId key) {
  auto found = definitions_.find(key);
  if (found == definitions_.end() || --found->second > 0) return;
  definitions_.erase(found);
  undefined_.insert(key);
  changed_ = true;
}

void WorkerKeys::use_again(WorkerKeyId key) {
  if (ending_.erase(key) > 0) set_unused(key, false);
}

void WorkerKeys::actor_ends(WorkerKeyId key) {
  auto count = actors_.find(key);
  if (--count->second == 0) actors_.erase(count);
  changed_ = true;
}

void WorkerKeys::let_go() {
  std::vector<WorkerKeyId> existing = processes_.awake_keys();
  std::erase_if(existing, [this](WorkerKeyId key) { return ending_.contains(key); });
  const std::uint64_t now_ns = os::monotonic_ns();
  for (WorkerKeyId key : keeper_.surplus(existing, in_use(), now_ns)) {
    set_unused(key, true);
    ending_.insert(key);
  }
  watch_clock(now_ns);
}

void WorkerKeys::watch_clock(std::uint64_t now_ns) {
  if (timer_ != 0 || keeper_.next_ns() == 0) return;
  const std::chrono::nanoseconds left(keeper_.next_ns() - std::min(now_ns, keeper_.next_ns()));
  timer_ = loop_.after(std::chrono::ceil<std::chrono::milliseconds>(left), [this] {
    timer_ = 0;
    changed_ = true;
  });
}

std::set<WorkerKeyId> WorkerKeys::in_use() const {
  std::set<WorkerKeyId> used;
  for (WorkerKeyId key : supply_.keys_in_use()) used.insert(scheduler::base_key(key));
  for (const Connection* driver : roster_.drivers()) {
    if (auto own = keys_.find({driver->process, 0}); own != keys_.end()) used.insert(own->second);
  }
  for (const auto& [key, count] : actors_) used.insert(key);
  return used;
}

void WorkerKeys::forget_unused() {
  std::erase_if(ending_, [this](WorkerKeyId key) {
    if (!processes_.rest(key)) return false;
    starts_.give_up(key);
    forget_in_supply(key);
    return true;
  });
  const std::vector<WorkerKeyId> awake = undefined_.empty() ? std::vector<WorkerKeyId>() : processes_.awake_keys();
  std::erase_if(undefined_, [&](WorkerKeyId key) {
    if (definitions_.contains(key)) return true;  // a new client has the same key
    if (std::binary_search(awake.begin(), awake.end(), key) || !processes_.rest(key)) return false;
    processes_.forget(key);
    forget_in_supply(key);
    return true;
  });
}

// Workers with devices have a key of their own beside the one that clients have defined.
void WorkerKeys::set_unused(WorkerKeyId key, bool unused) {
  for (WorkerKeyId each : {key, scheduler::device_key(key)}) supply_.key_unused(each, unused);
}

void WorkerKeys::forget_in_supply(WorkerKeyId key) {
  for (WorkerKeyId each : {key, scheduler::device_key(key)}) supply_.forget_key(each);
}

}  // namespace fray::node
