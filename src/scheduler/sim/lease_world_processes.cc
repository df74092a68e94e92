// Clients and workers of the LeaseWorld, as docs/decisions/0001 has them.
#include <algorithm>
#include <utility>

#include "scheduler/sim/lease_world.h"

namespace fray::scheduler {

namespace {
constexpr std::size_t kPipelined = 3;
constexpr std::uint32_t kMostAnnounced = 8;
constexpr std::uint32_t kMostDepth = 4;
// After a grant: it may have crossed a change of the demand, so what the node knows is said anew.
constexpr std::uint32_t kUnsure = ~0u;
}  // namespace

LeaseWorld::TaskId LeaseWorld::submit(ProcessId owner, std::uint32_t depth) {
  const auto id = static_cast<TaskId>(tasks_.size());
  Task task{.owner = owner, .shape = random_.below(shapes_.size()), .depth = depth};
  task.priority = random_.below(std::size(kPriorities));
  task.attempts = 1 + random_.below(3);
  if (depth < kMostDepth && random_.percent(45)) {
    task.children = std::min(tasks_left_, 1 + random_.below(4));
    tasks_left_ -= task.children;
  }
  task.waits = random_.percent(75);
  at(owner).queues[demand_number(task)].tasks.push_back(id);
  tasks_.push_back(task);
  return id;
}

void LeaseWorld::end(TaskId id) {
  Task& task = tasks_[id];
  if (task.state == TaskState::kEnded) throw SimulationViolation(fmt::format("task {} ends twice", id));
  task.state = TaskState::kEnded;
}

// --- clients
// ----------------------------------------------------------------------------------------------------------

void LeaseWorld::pump(ProcessId id) {
  if (!at(id).alive) return;
  choose_draining(id);
  send_tasks(id);
  return_drained(id);
  announce(id);
}

void LeaseWorld::send_tasks(ProcessId id) {
  Process& process = at(id);
  for (auto& [lease, held] : process.leases) {
    Queue& queue = process.queues[held.demand];
    // A new lease does one task before it goes back: otherwise it could be granted and returned for ever.
    while (!held.paused && !(held.draining && held.used) && !queue.tasks.empty() &&
           (held.sent.empty() || (held.sent.size() < kPipelined && random_.percent(40)))) {
      const TaskId task = queue.tasks.front();
      queue.tasks.pop_front();
      held.sent.push_back(task);
      held.used = true;
      tasks_[task].state = TaskState::kSent;
      tasks_[task].lease = lease;
      Direct& direct = directs_.at(lease);
      if (at(direct.worker).alive) direct.to_worker.push_back({Kind::kRun, lease, task});
    }
  }
}

void LeaseWorld::return_drained(ProcessId id) {
  Process& process = at(id);
  for (auto each = process.leases.begin(); each != process.leases.end();) {
    const ClientLease& held = each->second;
    const bool goes = held.draining && !held.paused && held.sent.empty();
    if (goes) {
      process.up.push_back({Kind::kReturnLease, each->first});
      --process.queues[held.demand].owed;
    }
    each = goes ? process.leases.erase(each) : std::next(each);
  }
}

void LeaseWorld::announce(ProcessId id) {
  Process& process = at(id);
  for (auto& [demand, queue] : process.queues) {
    const auto wanted = std::min(kMostAnnounced, static_cast<std::uint32_t>(queue.tasks.size()));
    if (wanted == queue.announced) continue;
    queue.announced = wanted;
    const std::uint32_t held = leases_of(process, demand);
    queue.most = std::max(queue.most, wanted + held);
    process.up.push_back({Kind::kDemand, 0, demand, wanted, held});
  }
}

std::uint32_t LeaseWorld::leases_of(const Process& process, std::uint32_t demand) {
  return static_cast<std::uint32_t>(std::count_if(process.leases.begin(), process.leases.end(),
                                                  [=](const auto& each) { return each.second.demand == demand; }));
}

void LeaseWorld::read_down(ProcessId id) {
  Process& process = at(id);
  const Message message = process.down.front();
  process.down.pop_front();
  switch (message.kind) {
    case Kind::kGrant:
      process.queues[message.number].announced = kUnsure;
      process.leases[message.lease].demand = message.number;
      if (leases_of(process, message.number) > process.queues[message.number].most)
        throw SimulationViolation("a client has more leases than it has ever asked for");
      break;
    case Kind::kReclaim:
      process.queues[message.number].owed += message.count;
      break;
    case Kind::kLost:
      lose_lease(id, message.lease);
      break;
    case Kind::kRefused:
      refuse(id, message.number);
      break;
    case Kind::kQuit:
      return kill(id);
    default:
      throw SimulationViolation("a process got a message that is not for it");
  }
  pump(id);
}

// What is owed is a number, not a mark on a lease: a lease that was chosen may block, and one that seemed blocked may
// have resumed. At any time the running leases with least to do get nothing more and go back when they are idle.
void LeaseWorld::choose_draining(ProcessId id) {
  for (auto& [demand, queue] : at(id).queues) {
    std::vector<std::pair<std::size_t, ClientLease*>> running;
    std::uint32_t held_leases = 0;
    for (auto& [lease, held] : at(id).leases) {
      if (held.demand != demand) continue;
      ++held_leases;
      held.draining = false;
      if (!held.paused) running.emplace_back(held.sent.size(), &held);
    }
    queue.owed = std::min(queue.owed, held_leases);
    std::stable_sort(running.begin(), running.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < running.size() && i < queue.owed; ++i) running[i].second->draining = true;
  }
}

void LeaseWorld::lose_lease(ProcessId id, LeaseId lease) {
  while (!directs_.at(lease).to_client.empty()) read_direct_to_client(lease);
  auto found = at(id).leases.find(lease);
  if (found == at(id).leases.end()) return;  // it was on its way back
  const std::vector<TaskId> unfinished = std::move(found->second.sent);
  if (std::uint32_t& owed = at(id).queues[found->second.demand].owed; owed > 0) --owed;
  at(id).leases.erase(found);
  for (auto task = unfinished.rbegin(); task != unfinished.rend(); ++task) {
    if (--tasks_[*task].attempts == 0) {
      end(*task);
    } else {
      tasks_[*task].state = TaskState::kQueued;
      at(id).queues[demand_number(tasks_[*task])].tasks.push_front(*task);
    }
  }
}

void LeaseWorld::refuse(ProcessId id, std::uint32_t demand) {
  for (TaskId task : std::exchange(at(id).queues[demand].tasks, {})) end(task);
}

void LeaseWorld::read_direct_to_client(LeaseId lease) {
  Direct& direct = directs_.at(lease);
  const Message message = direct.to_client.front();
  direct.to_client.pop_front();
  auto found = at(direct.client).leases.find(lease);
  if (found == at(direct.client).leases.end()) return;
  ClientLease& held = found->second;
  if (message.kind == Kind::kResult || message.kind == Kind::kReturned) {
    if (std::erase(held.sent, message.number) == 0) throw SimulationViolation("an answer for a task that was not sent");
  }
  switch (message.kind) {
    case Kind::kPaused:
      held.paused = true;
      break;
    case Kind::kResumed:
      held.paused = false;
      break;
    case Kind::kResult:
      end(message.number);
      break;
    case Kind::kReturned: {
      Task& task = tasks_[message.number];
      task.state = TaskState::kQueued;
      at(direct.client).queues[demand_number(task)].tasks.push_front(message.number);
      break;
    }
    default:
      throw SimulationViolation("a client got a message that is not for it");
  }
  pump(direct.client);
}

// --- workers
// ----------------------------------------------------------------------------------------------------------

void LeaseWorld::read_direct_to_worker(LeaseId lease) {
  Direct& direct = directs_.at(lease);
  const Message message = direct.to_worker.front();
  direct.to_worker.pop_front();
  Process& worker = at(direct.worker);
  worker.serving = lease;
  if (worker.blocked) {
    direct.to_client.push_back({Kind::kReturned, lease, message.number});
  } else {
    worker.run_queue.push_back(message.number);
  }
}

bool LeaseWorld::children_ended(const Process& process) const {
  return std::all_of(process.children.begin(), process.children.end(),
                     [this](TaskId child) { return tasks_[child].state == TaskState::kEnded; });
}

bool LeaseWorld::can_go_on(const Process& process) const {
  if (process.driver || !process.hello) return false;
  if (process.hosts != 0) return actor_can_go_on(process);
  if (process.blocked) return children_ended(process);
  return process.running != 0 || !process.run_queue.empty();
}

void LeaseWorld::go_on(ProcessId id) {
  Process& worker = at(id);
  if (worker.hosts != 0) return go_on_as_actor(id);
  if (worker.running == 0) {
    worker.running = worker.run_queue.front();
    worker.run_queue.pop_front();
    worker.started = false;
    if (tasks_[worker.running].lease != worker.serving) {
      throw SimulationViolation(fmt::format("task {} runs where it was returned", worker.running));
    }
    return;
  }
  const Task task = tasks_[worker.running];
  if (!worker.started) {
    worker.started = true;
    worker.children.clear();
    for (std::uint32_t i = 0; i < task.children; ++i) worker.children.push_back(submit(id, task.depth + 1));
    return pump(id);
  }
  if (worker.blocked) {
    worker.blocked = false;
    worker.up.push_back({Kind::kUnblocked});
    directs_.at(worker.serving).to_client.push_back({Kind::kResumed, worker.serving});
  } else if (task.waits && !children_ended(worker)) {
    return block(id);
  }
  finish(id);
}

void LeaseWorld::block(ProcessId id) {
  Process& worker = at(id);
  Channel& to_client = directs_.at(worker.serving).to_client;
  worker.blocked = true;
  worker.up.push_back({Kind::kBlocked});
  to_client.push_back({Kind::kPaused, worker.serving});
  for (TaskId task : std::exchange(worker.run_queue, {})) to_client.push_back({Kind::kReturned, worker.serving, task});
}

void LeaseWorld::finish(ProcessId id) {
  Process& worker = at(id);
  directs_.at(worker.serving).to_client.push_back({Kind::kResult, worker.serving, std::exchange(worker.running, 0)});
  if (--worker.calls_left > 0) return;
  worker.up.push_back({Kind::kRetiring});
  kill(id);
}

}  // namespace fray::scheduler
