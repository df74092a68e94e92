#include "node/dashboard/run_collector.h"

#include <algorithm>

namespace fray::node {

namespace {
constexpr std::uint32_t kLongestPauseOfDrivers = 2;  // ticks
constexpr std::uint32_t kLongestPauseOfWorkers = 8;
}  // namespace

void RunCollector::begin() {
  for (const Connection* connection : roster_.clients()) clients_[connection->process].is_news = false;
}

void RunCollector::greet(Connection& driver) {
  clients_[driver.process].asked = true;
  driver.send(wire::ControlType::kTellRuns, 0, wire::TellRuns{});
}

void RunCollector::ask() {
  by_pid_.clear();
  for (const auto& [process, worker] : processes_.workers()) by_pid_[worker.pid] = process;
  board_.tick();
  for (Connection* connection : roster_.clients()) {
    Client& client = clients_[connection->process];
    if (client.asked || !may_have_news(client, *connection)) continue;
    client.asked = true;
    connection->send(wire::ControlType::kTellRuns, 0, wire::TellRuns{client.since, client.failures});
  }
}

bool RunCollector::may_have_news(Client& client, const Connection& connection) const {
  if (client.rest > 0 && --client.rest > 0) return false;
  if (connection.role != wire::Role::kWorker) return true;
  auto worker = processes_.workers().find(connection.process);
  if (worker == processes_.workers().end()) return false;
  const std::uint64_t begun = worker->second.view()->started_ns.load(std::memory_order_relaxed);
  if (begun == client.begun && !worker->second.view()->runs_a_task() && board_.unfinished_of(connection.process) == 0) {
    return false;
  }
  client.begun = begun;
  return true;
}

void RunCollector::told(ProcessId process, const wire::RunsTold& message) {
  auto found = clients_.find(process);
  if (found == clients_.end()) return;  // nobody asked
  Client& client = found->second;
  client.asked = false;
  const bool something = message.next != client.since;
  const Connection* connection = roster_.find(process);
  const bool is_worker = connection != nullptr && connection->role == wire::Role::kWorker;
  const std::uint32_t longest = is_worker ? kLongestPauseOfWorkers : kLongestPauseOfDrivers;
  const bool is_new = !is_worker && client.since == 0;
  client.pause = something || is_new ? 1 : std::min(2 * client.pause, longest);
  client.rest = client.pause;
  client.since = message.next;
  client.failures = message.failures;
  board_.told(process, message, client.is_news, [this](std::int32_t pid) { return process_of(pid); });
  client.is_news = true;
}

void RunCollector::client_left(ProcessId client) {
  clients_.erase(client);
  board_.client_left(client);
}

ProcessId RunCollector::process_of(std::int32_t pid) const {
  auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? 0 : found->second;
}

}  // namespace fray::node
