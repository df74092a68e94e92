// The documents of a Dashboard about tasks: the stream, one task, the table of functions.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "node/dashboard/arranged_rows.h"
#include "node/dashboard/dashboard.h"
#include "node/workers/lease_carrier.h"
#include "os/clock.h"

namespace fray::node {

namespace {

using nlohmann::json;

const char* state_of(wire::TaskStatus status) {
  switch (status) {
    case wire::TaskStatus::kOk:
      return "ok";
    case wire::TaskStatus::kFailed:
      return "failed";
    case wire::TaskStatus::kCancelled:
      return "cancelled";
    case wire::TaskStatus::kTimedOut:
      return "timed out";
    case wire::TaskStatus::kRetry:
      break;
  }
  return "retried";
}

json measured(std::uint64_t amount) { return amount == wire::ResultHead::kNotMeasured ? json(nullptr) : json(amount); }

json measured_seconds(std::uint64_t ns) {
  return ns == wire::ResultHead::kNotMeasured ? json(nullptr) : json(static_cast<double>(ns) / 1e9);
}

std::string task_name_of(ProcessId client, std::uint64_t number) { return fmt::format("{}-{}", client, number); }

// "1-42": the client and its number of the task.
bool parse_task_name(std::string_view name, ProcessId* client, std::uint64_t* number) {
  const char* end = name.data() + name.size();
  auto [dash, wrong_client] = std::from_chars(name.data(), end, *client);
  if (wrong_client != std::errc() || dash == end || *dash != '-') return false;
  auto [last, wrong_number] = std::from_chars(dash + 1, end, *number);
  return wrong_number == std::errc() && last == end;
}

constexpr std::size_t kMostNamedFunctions = 50;
constexpr int kFirstBoundOctave = 16;  // 66 microseconds
constexpr int kLastBoundOctave = 38;   // 275 s

json run_times_json(const dashboard::FunctionRow& row) {
  json up_to = json::array();
  for (int octave = kFirstBoundOctave; octave <= kLastBoundOctave; ++octave)
    up_to.push_back(row.shorter_than_octave(octave));
  const wire::RunSums& sums = row.sums;
  return {{"name", row.name},
          {"ok", sums.ok},
          {"failed", sums.failed},
          {"cancelled", sums.cancelled},
          {"timed_out", sums.timed_out},
          {"retried", sums.retried},
          {"count", sums.count()},
          {"seconds_total", static_cast<double>(sums.total_ns) / 1e9},
          {"cpu_seconds", static_cast<double>(sums.cpu_ns) / 1e9},
          {"up_to", std::move(up_to)}};
}

struct RunningTask {
  std::string name;
  std::int32_t pid = 0;
  ProcessId process = 0;
  ProcessId client = 0;  // 0: a call of an actor, whose caller is not known here
  std::uint64_t number = 0;
  std::uint64_t started_ns = 0;
};

std::vector<RunningTask> running_tasks(const StatusSources& sources, const Roster& roster) {
  const scheduler::LeaseTable& table = sources.leases.table();
  std::vector<RunningTask> running;
  for (const auto& [process, worker] : sources.processes.workers()) {
    const WorkerPage* page = worker.view();
    RunningTask task{page->running_task(), worker.shown_pid(), process};
    if (task.name.empty()) continue;
    task.number = page->task_number.load(std::memory_order_relaxed);
    task.started_ns = page->started_ns.load(std::memory_order_relaxed);
    const scheduler::Worker* entry = table.workers().find(process);
    const scheduler::HeldLease* lease = entry == nullptr ? nullptr : table.ledger().find(entry->lease);
    if (lease != nullptr && !lease->dedicated && roster.find(lease->client) != nullptr) task.client = lease->client;
    running.push_back(std::move(task));
  }
  return running;
}

double seconds_between(std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) / 1e9 : 0.0;
}

}  // namespace

json Dashboard::tasks(std::uint64_t after, std::size_t limit) {
  glance();
  dashboard::RunBoard& board = collector_.board();
  const dashboard::RunBoard::Slice slice = board.bars_after(after, limit);
  std::map<std::uint32_t, bool> functions;
  std::map<std::uint32_t, bool> workers;
  json rows = json::array();
  for (const dashboard::Bar& bar : slice.bars) {
    functions[bar.function] = workers[bar.worker] = true;
    rows.push_back({bar.function, bar.worker, unix_seconds(bar.run.started_ns),
                    static_cast<double>(bar.run.lasting_ns) / 1e9, state_of(bar.run.status), bar.run.count,
                    task_name_of(bar.client, bar.run.task), bar.run.attempt + 1});
  }
  json running = json::array();
  const std::uint64_t now_ns = os::monotonic_ns();
  for (const RunningTask& task : running_tasks(parts_.sources(), parts_.roster)) {
    const std::uint32_t function = board.function_number(task.name);
    const std::uint32_t worker = board.worker_number(task.pid, task.process);
    functions[function] = workers[worker] = true;
    running.push_back({function, worker, unix_seconds(task.started_ns), seconds_between(task.started_ns, now_ns),
                       "running", 1, task.client == 0 ? json(nullptr) : json(task_name_of(task.client, task.number)),
                       nullptr});
  }
  json names = json::array();
  for (const auto& [number, used] : functions) names.push_back({number, board.functions()[number].name});
  json places = json::array();
  for (const auto& [number, used] : workers) {
    places.push_back({number, board.workers()[number].pid, board.workers()[number].process});
  }
  return {{"schema", "fray/v1"},
          {"time", unix_seconds(now_ns)},
          {"next", slice.next},
          {"left_out", slice.left_out},
          {"functions", std::move(names)},
          {"workers", std::move(places)},
          {"fields", {"function", "worker", "start", "seconds", "state", "count", "task", "attempt"}},
          {"rows", std::move(rows)},
          {"running", std::move(running)}};
}

std::uint64_t Dashboard::tasks_since(double seconds) {
  const std::uint64_t now_ns = os::monotonic_ns();
  const auto span_ns = static_cast<std::uint64_t>(seconds * 1e9);
  return collector_.board().first_ended_after(now_ns - std::min(now_ns, span_ns));
}

Result<json> Dashboard::task(const std::string& name) {
  glance();
  ProcessId client = 0;
  std::uint64_t number = 0;
  const Status none(StatusCode::kNotFound, fmt::format("no task {} is known here any more, or yet", name));
  if (!parse_task_name(name, &client, &number)) {
    return Status(StatusCode::kNotFound, fmt::format("no task is called {}; one is called like 1-42", name));
  }
  const dashboard::RunBoard& board = collector_.board();
  std::string function;
  json runs = json::array();
  const auto worker_json = [&](std::int32_t pid, ProcessId process, std::uint32_t row) {
    return json{{"number", row},
                {"process", process},
                {"pid", pid},
                {"alive", collector_.process_of(pid) == process && process != 0}};
  };
  for (const dashboard::Bar& bar : board.runs_of(client, number)) {
    function = board.functions()[bar.function].name;
    const dashboard::WorkerRow& worker = board.workers()[bar.worker];
    runs.push_back({{"attempt", bar.run.attempt + 1},
                    {"state", state_of(bar.run.status)},
                    {"worker", worker_json(worker.pid, worker.process, bar.worker)},
                    {"start", unix_seconds(bar.run.started_ns)},
                    {"seconds", static_cast<double>(bar.run.lasting_ns) / 1e9},
                    {"cpu_seconds", measured_seconds(bar.run.cpu_ns)},
                    {"peak_memory_bytes", measured(bar.run.peak_memory_bytes)},
                    {"bytes_in", bar.run.bytes_in},
                    {"bytes_out", bar.run.bytes_out},
                    {"count", bar.run.count}});
  }
  json stack = nullptr;
  for (const RunningTask& task : running_tasks(parts_.sources(), parts_.roster)) {
    if (task.client != client || task.number != number) continue;
    function = task.name;
    stack = fmt::format("workers/{}/stack", task.pid);
    runs.push_back(
        {{"attempt", nullptr},
         {"state", "running"},
         {"worker", worker_json(task.pid, task.process, collector_.board().worker_number(task.pid, task.process))},
         {"start", unix_seconds(task.started_ns)},
         {"seconds", seconds_between(task.started_ns, os::monotonic_ns())},
         {"cpu_seconds", nullptr},
         {"peak_memory_bytes", nullptr},
         {"bytes_in", nullptr},
         {"bytes_out", nullptr},
         {"count", 1}});
  }
  if (runs.empty()) return none;
  const std::string* failure = board.failure_of(client, number);
  return json{{"schema", "fray/v1"},      {"task", name},
              {"function", function},     {"client", process_json(client)},
              {"runs", std::move(runs)},  {"error", failure == nullptr ? json(nullptr) : json(*failure)},
              {"stack", std::move(stack)}};
}

json Dashboard::run_times() {
  glance(kLookOfRunTimes);
  const auto& functions = collector_.board().functions();
  dashboard::FunctionRow others;
  others.name = dashboard::RunBoard::kOthers;
  json rows = json::array();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const bool named = i < kMostNamedFunctions && functions[i].name != others.name;
    named ? rows.push_back(run_times_json(functions[i])) : others.add(functions[i]);
  }
  if (others.sums.count() > 0) rows.push_back(run_times_json(others));
  json bounds = json::array();
  for (int octave = kFirstBoundOctave; octave <= kLastBoundOctave; ++octave)
    bounds.push_back(static_cast<double>(std::uint64_t{1} << octave) / 1e9);
  return {{"schema", "fray/v1"}, {"bounds_seconds", std::move(bounds)}, {"functions", std::move(rows)}};
}

Result<json> Dashboard::functions(const ListQuery& query) {
  glance();
  FRAY_ASSIGN_OR_RETURN(
      const std::string_view key,
      sort_key(query, {"seconds_total", "number",      "name",        "running",     "count",       "ok",
                       "failed",        "cancelled",   "timed_out",   "retried",     "per_second",  "seconds_mean",
                       "seconds_p50",   "seconds_p90", "seconds_p99", "seconds_max", "cpu_seconds", "peak_memory_bytes",
                       "bytes_in",      "bytes_out",   "last"}));
  dashboard::RunBoard& board = collector_.board();
  std::map<std::uint32_t, std::uint32_t> running;
  for (const RunningTask& task : running_tasks(parts_.sources(), parts_.roster))
    ++running[board.function_number(task.name)];
  std::vector<json> rows;
  for (std::uint32_t number = 0; number < board.functions().size(); ++number) {
    const dashboard::FunctionRow& row = board.functions()[number];
    if (!has_text(row.name, query.search)) continue;
    const wire::RunSums& sums = row.sums;
    const std::uint64_t count = sums.count();
    const auto timed = [count](double ns) { return count == 0 ? json(nullptr) : json(ns / 1e9); };
    rows.push_back({{"number", number},
                    {"name", row.name},
                    {"running", running.contains(number) ? running[number] : 0},
                    {"count", count},
                    {"ok", sums.ok},
                    {"failed", sums.failed},
                    {"cancelled", sums.cancelled},
                    {"timed_out", sums.timed_out},
                    {"retried", sums.retried},
                    {"per_second", row.per_second()},
                    {"seconds_total", static_cast<double>(sums.total_ns) / 1e9},
                    {"seconds_mean", timed(static_cast<double>(sums.total_ns) /
                                           static_cast<double>(std::max<std::uint64_t>(count, 1)))},
                    {"seconds_p50", timed(row.percentile(0.5))},
                    {"seconds_p90", timed(row.percentile(0.9))},
                    {"seconds_p99", timed(row.percentile(0.99))},
                    {"seconds_max", timed(static_cast<double>(sums.longest_ns))},
                    {"cpu_seconds", sums.measured == 0 ? json(nullptr) : json(static_cast<double>(sums.cpu_ns) / 1e9)},
                    {"peak_memory_bytes", sums.peak_memory_bytes == 0 ? json(nullptr) : json(sums.peak_memory_bytes)},
                    {"bytes_in", sums.bytes_in},
                    {"bytes_out", sums.bytes_out},
                    {"last", sums.last_end_ns == 0 ? json(nullptr) : json(unix_seconds(sums.last_end_ns))}});
  }
  std::size_t total = 0;
  arrange(rows, query, key, &total);
  return json{
      {"schema", "fray/v1"}, {"total", total}, {"since", unix_seconds(since_ns_)}, {"functions", std::move(rows)}};
}

}  // namespace fray::node
