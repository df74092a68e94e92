#include "node/workers/worker_starts.h"

#include <chrono>
#include <utility>

namespace fray::node {

void WorkerStarts::begin(WorkerKeyId key) {
  const WorkerKeyId base = scheduler::base_key(key);
  processes_.make_env(base);
  const EnvState env = processes_.env_state(base);
  if (env == EnvState::kFailed) return table_.start_failed(key);
  if (env != EnvState::kReady) return without_env_[base].push_back(key);
  const std::chrono::milliseconds delay = processes_.start_delay(base);
  if (delay.count() == 0) return ready_.push_back(key);
  loop_.after(delay, [this, key] { start(key); });
}

// Starting processes takes long, so messages that are ready are sent first.
bool WorkerStarts::carry_out() {
  if (ready_.empty()) return false;
  roster_.end_round();
  for (WorkerKeyId key : std::exchange(ready_, {})) start(key);
  return true;
}

void WorkerStarts::env_settled(WorkerKeyId base) {
  if (processes_.env_state(base) != EnvState::kReady) return give_up(base);
  if (auto waiting = without_env_.extract(base)) {
    for (WorkerKeyId key : waiting.mapped()) start(key);
  }
}

void WorkerStarts::give_up(WorkerKeyId base) {
  if (auto waiting = without_env_.extract(base)) {
    for (WorkerKeyId key : waiting.mapped()) table_.start_failed(key);
  }
}

void WorkerStarts::start(WorkerKeyId key) {
  const ProcessId worker = roster_.new_process();
  if (processes_.start(scheduler::base_key(key), worker).is_ok()) {
    table_.worker_starting(worker, key);
  } else {
    table_.start_failed(key);  // the key has the reason
  }
}

std::string WorkerStarts::env_reason(WorkerKeyId key) const {
  const WorkerKeyId base = scheduler::base_key(key);
  return processes_.env_state(base) == EnvState::kMaking ? "runtime env: " + processes_.env_text(base) : "";
}

void WorkerStarts::explain(WorkerKeyId key, wire::DemandRefused& refusal) {
  const WorkerKeyId base = scheduler::base_key(key);
  if (processes_.env_state(base) == EnvState::kFailed) {
    refusal.code = StatusCode::kRuntimeEnv;
    refusal.reason = processes_.env_text(base);
    told_envs_.insert(base);
  } else {
    refusal.code = processes_.failure_code(base);
    refusal.reason += ": " + processes_.failure_reason(base);
  }
}

void WorkerStarts::end_round() {
  for (WorkerKeyId key : std::exchange(told_envs_, {})) processes_.forgive_env(key);
}

}  // namespace fray::node
