#include "node/actors/wait_carrier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fray::node {

void WaitCarrier::waits(ProcessId process, std::uint64_t wait, wire::CallWaits message) {
  const actor::WaitKey key{process, wait};
  const CallWait* known = graph_.find(key);
  if (known != nullptr && *known == message.wait) {
    if (message.probe == probe_) unconfirmed_.erase(key);
    return;
  }
  graph_.add(key, std::move(message.wait));
  suspects_.clear();
  changed_ = true;
}

void WaitCarrier::ended(ProcessId process, std::uint64_t wait) {
  changed_ = graph_.remove({process, wait}) || changed_;
}

void WaitCarrier::process_left(ProcessId process) { changed_ = graph_.remove_process(process) || changed_; }

void WaitCarrier::carry_out() {
  while (changed_ || (!suspects_.empty() && unconfirmed_.empty())) {
    changed_ = false;
    std::set<actor::WaitKey> stuck = graph_.stuck([this](const ActorId& actor) { return worker_of(actor); });
    if (stuck != suspects_) {
      suspect(std::move(stuck));
    } else if (!stuck.empty() && unconfirmed_.empty()) {
      refuse_one(stuck);
    }
  }
}

void WaitCarrier::suspect(std::set<actor::WaitKey> suspects) {
  suspects_ = unconfirmed_ = std::move(suspects);
  if (suspects_.empty()) return;
  ++probe_;
  ProcessId asked = 0;
  for (const actor::WaitKey& key : suspects_) {  // the keys of one process are adjacent
    if (key.process == std::exchange(asked, key.process)) continue;
    if (Connection* process = roster_.find(key.process))
      process->send_frame(wire::frame(wire::ControlType::kProbeWaits, probe_));
  }
}

void WaitCarrier::refuse_one(const std::set<actor::WaitKey>& stuck) {
  const auto circle = graph_.circle(stuck, [this](const ActorId& actor) { return worker_of(actor); });
  const actor::WaitKey chosen = graph_.youngest(circle);
  roster_.send(chosen.process, wire::ControlType::kWaitRefused, chosen.wait,
               wire::Text{StatusCode::kDeadlock, describe(circle)});
  graph_.remove(chosen);
  suspects_.clear();
  changed_ = true;
}

std::string WaitCarrier::describe(const std::vector<actor::WaitStep>& circle) const {
  std::string text = "a wait that can never end: ";
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const actor::WaitKey& next = circle[(i + 1) % circle.size()].key;
    const std::string runs = name_of(next);
    if (i == 0) text += name_of(circle[i].key) + " waits for ";
    if (i > 0) text += ", which waits for ";
    const std::string& awaited = circle[i].awaited;
    text += awaited.empty() || runs.starts_with(awaited) ? runs : fmt::format("{} behind {}", awaited, runs);
  }
  return text +
         ". Return the ref instead of waiting for it, or let the actors run more calls at once (max_concurrency)";
}

std::string WaitCarrier::name_of(const actor::WaitKey& key) const {
  const CallWait* wait = graph_.find(key);
  const std::string& name = wait->name;
  auto actor = actors_.actor_of_worker(key.process);
  if (!actor) return fmt::format("task {}", name);
  const ActorSpec& spec = *actors_.spec(*actor);
  if (spec.name) return fmt::format("{}.{} (actor '{}')", spec.class_name, name, *spec.name);
  return fmt::format("{}.{}", spec.class_name, name);
}

ProcessId WaitCarrier::worker_of(const ActorId& actor) const {
  auto view = actors_.view(actor);
  return view && view->state == actor::ActorState::kAlive ? view->worker : 0;
}

}  // namespace fray::node
