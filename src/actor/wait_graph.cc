#include "actor/wait_graph.h"

#include <algorithm>
#include <utility>

namespace fray::actor {

void WaitGraph::add(const WaitKey& key, CallWait wait) { waits_[key] = {std::move(wait), ++said_}; }

bool WaitGraph::remove(const WaitKey& key) { return waits_.erase(key) > 0; }

bool WaitGraph::remove_process(ProcessId process) {
  const auto first = waits_.lower_bound({process, 0});
  const auto last = waits_.upper_bound({process, ~std::uint64_t{0}});
  const bool found = first != last;
  waits_.erase(first, last);
  return found;
}

const CallWait* WaitGraph::find(const WaitKey& key) const {
  auto found = waits_.find(key);
  return found == waits_.end() ? nullptr : &found->second.wait;
}

WaitGraph::Index WaitGraph::index(const std::set<WaitKey>& keys) const {
  Index index;
  for (const WaitKey& key : keys) {
    index.calls.emplace(waits_.at(key).wait.call, key);
    index.processes[key.process].push_back(key);
  }
  return index;
}

const WaitKey* WaitGraph::obstacle(const AwaitedCall& awaited, const Index& index, const WorkerOf& worker_of) const {
  if (auto call = index.calls.find(awaited.call); call != index.calls.end()) return &call->second;
  if (awaited.actor == ActorId{}) return nullptr;
  const ProcessId worker = worker_of(awaited.actor);
  auto process = index.processes.find(worker);
  if (worker == 0 || process == index.processes.end()) return nullptr;
  const std::vector<WaitKey>& taken = process->second;
  if (taken.size() < waits_.at(taken.front()).wait.places) return nullptr;
  return &taken.front();
}

std::set<WaitKey> WaitGraph::stuck(const WorkerOf& worker_of) const {
  std::set<WaitKey> left;
  for (const auto& [key, entry] : waits_) left.insert(key);
  while (true) {
    const Index known = index(left);
    const std::size_t before = left.size();
    std::erase_if(left, [&](const WaitKey& key) {
      const CallWait& wait = waits_.at(key).wait;
      const auto may_come = std::count_if(wait.awaited.begin(), wait.awaited.end(), [&](const AwaitedCall& each) {
        return obstacle(each, known, worker_of) == nullptr;
      });
      return static_cast<std::size_t>(may_come) >= wait.needed;
    });
    if (left.size() == before) return left;
  }
}

std::vector<WaitStep> WaitGraph::circle(const std::set<WaitKey>& stuck, const WorkerOf& worker_of) const {
  std::vector<WaitStep> path;
  if (stuck.empty()) return path;
  const Index known = index(stuck);
  WaitKey at = *std::max_element(stuck.begin(), stuck.end(), [this](const WaitKey& left, const WaitKey& right) {
    return waits_.at(left).order < waits_.at(right).order;
  });
  while (true) {
    auto seen = std::find_if(path.begin(), path.end(), [&](const WaitStep& step) { return step.key == at; });
    if (seen != path.end()) {
      path.erase(path.begin(), seen);
      return path;
    }
    const WaitKey* next = nullptr;
    std::string name;
    for (const AwaitedCall& each : waits_.at(at).wait.awaited) {
      next = obstacle(each, known, worker_of);
      name = each.name;
      if (next != nullptr) break;
    }
    path.push_back({at, name});
    if (next == nullptr) return path;  // the set was not returned by stuck()
    at = *next;
  }
}

WaitKey WaitGraph::youngest(const std::vector<WaitStep>& circle) const {
  return std::max_element(circle.begin(), circle.end(),
                          [this](const WaitStep& left, const WaitStep& right) {
                            return waits_.at(left.key).order < waits_.at(right.key).order;
                          })
      ->key;
}

}  // namespace fray::actor
