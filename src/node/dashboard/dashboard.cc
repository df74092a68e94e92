#include "node/dashboard/dashboard.h"

#include <algorithm>
#include <utility>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "model/json_text.h"
#include "node/actors/actor_carrier.h"
#include "node/dashboard/node_log.h"
#include "node/dashboard/waiting_groups.h"
#include "node/jobs/job_carrier.h"
#include "node/objects/memory_carrier.h"
#include "node/objects/object_carrier.h"
#include "node/workers/lease_carrier.h"
#include "os/clock.h"

namespace fray::node {

namespace {

using nlohmann::json;

std::size_t running_workers(const WorkerProcesses& processes) {
  return static_cast<std::size_t>(std::count_if(processes.workers().begin(), processes.workers().end(),
                                                [](const auto& entry) { return entry.second.view()->runs_a_task(); }));
}

double leased(const StatusSources& sources, const char* name) {
  return sources.total.amount(name) - sources.leases.table().free().amount(name);
}

std::uint64_t waiting_tasks_of(const LeaseCarrier& leases) {
  std::uint64_t count = 0;
  for (const scheduler::Demand* demand : leases.table().state().demands.all()) {
    if (!demand->wanted.dedicated) count += demand->wanted.count;
  }
  return count;
}

json lines_json(const std::vector<std::string>& lines) {
  json rows = json::array();
  for (const std::string& line : lines) {
    const LogEvent event = parse_log_event(line);
    rows.push_back({{"time", event.unix_seconds ? json(*event.unix_seconds) : json(nullptr)},
                    {"level", event.level.empty() ? json(nullptr) : json(event.level)},
                    {"text", event.text}});
  }
  return rows;
}

json log_json(const std::vector<std::string>& lines) {
  const std::string path = NodeLog::path();
  json document = {{"schema", "fray/v1"}, {"path", nullptr}, {"problem", nullptr}, {"lines", lines_json(lines)}};
  if (path.empty()) {
    document["problem"] = "The node's messages go to no file: it runs in the foreground, or in a program.";
  } else {
    document["path"] = path;
  }
  return document;
}

}  // namespace

Dashboard::Dashboard(Parts parts)
    : parts_(std::move(parts)),
      collector_(parts_.roster, parts_.processes),
      memory_(os::MemoryGauge::of_this_process()),
      unix_offset_ns_(os::unix_ns() - static_cast<std::int64_t>(os::monotonic_ns())) {}

Dashboard::~Dashboard() { parts_.loop.cancel(timer_); }

double Dashboard::unix_seconds(std::uint64_t monotonic_ns) const {
  return static_cast<double>(static_cast<std::int64_t>(monotonic_ns) + unix_offset_ns_) / 1e9;
}

double Dashboard::time_now() const { return unix_seconds(os::monotonic_ns()); }

// ---- Who looks ----

DashboardView::LookId Dashboard::look(std::function<void()> on_tick) {
  looks_[++last_look_] = std::move(on_tick);
  glance();
  return last_look_;
}

void Dashboard::leave(LookId look) { looks_.erase(look); }

void Dashboard::glance(std::chrono::seconds look) {
  const std::uint64_t until = os::monotonic_ns() + static_cast<std::uint64_t>(std::chrono::nanoseconds(look).count());
  look_until_ns_ = std::max(look_until_ns_, until);
  if (timer_ != 0) return;
  if (since_ns_ == 0) since_ns_ = os::monotonic_ns();
  cpus_.forget();
  cpus_.busy();
  collector_.begin();
  tick();
}

bool Dashboard::is_looked_at() const { return !looks_.empty() || os::monotonic_ns() < look_until_ns_; }

void Dashboard::tick() {
  timer_ = 0;
  now_text_.clear();
  if (!is_looked_at()) return;
  timer_ = parts_.loop.after(kTick, [this] { tick(); });
  collector_.ask();
  take_sample();
  if (os::monotonic_ns() >= growth_due_ns_) note_objects();
  std::vector<LookId> ids;
  for (const auto& [id, on_tick] : looks_) ids.push_back(id);
  for (LookId id : ids) {
    auto found = looks_.find(id);  // a look may end another one
    if (found == looks_.end()) continue;
    const std::function<void()> on_tick = found->second;
    on_tick();
  }
}

void Dashboard::take_sample() {
  const StatusSources sources = parts_.sources();
  const store::SegmentTable& store = sources.memory.table();
  const os::MemoryRoom room = memory_.room();
  const dashboard::RunBoard& board = collector_.board();
  sample_.time = time_now();
  sample_.values = {leased(sources, "CPU"),
                    cpus_.busy(),
                    leased(sources, "GPU"),
                    static_cast<double>(room.limit_bytes - std::min(room.limit_bytes, room.available_bytes)),
                    static_cast<double>(store.used()),
                    static_cast<double>(store.spilled_bytes()),
                    board.per_second(),
                    board.failed_per_second(),
                    static_cast<double>(running_workers(sources.processes)),
                    static_cast<double>(waiting_tasks_of(sources.leases)),
                    static_cast<double>(board.unfinished()),
                    static_cast<double>(sources.processes.workers().size())};
  history_.add(sample_);
}

// ---- Documents ----

json Dashboard::session() {
  const StatusSources sources = parts_.sources();
  return {{"schema", "fray/v1"},
          {"release", sources.release},
          {"node", parts_.node},
          {"pid", ::getpid()},
          {"started", unix_seconds(sources.started_ns)},
          {"time", time_now()},
          {"may", {{"stop_jobs", true}}}};
}

json Dashboard::now() {
  glance();
  const StatusSources sources = parts_.sources();
  const dashboard::RunBoard& board = collector_.board();
  const auto& values = sample_.values;
  const os::MemoryRoom room = memory_.room();
  const store::SegmentTable& store = sources.memory.table();
  json workers = {{"total", sources.processes.workers().size()}};
  const auto counts = workers_by_state(sources);
  for (std::size_t i = 0; i < counts.size(); ++i) workers[std::string(kWorkerStates.at(i))] = counts.at(i);
  const json jobs = job_rows(sources.jobs);
  std::size_t running_jobs = 0;
  for (const json& row : jobs) running_jobs += row.contains("reason") ? 0 : 1;
  return {{"schema", "fray/v1"},
          {"time", time_now()},
          {"resources", resources_json(sources)},
          {"cpus", {{"total", sources.total.amount("CPU")}, {"leased", values[0]}, {"busy", values[1]}}},
          {"gpus", {{"total", sources.total.amount("GPU")}, {"leased", values[2]}}},
          {"memory", {{"limit_bytes", room.limit_bytes}, {"used_bytes", static_cast<std::uint64_t>(values[3])}}},
          {"store",
           {{"limit_bytes", store.limit()},
            {"used_bytes", store.used()},
            {"spilled_bytes", store.spilled_bytes()},
            {"segments", store.size()},
            {"objects", sources.objects.table().size()}}},
          {"tasks",
           {{"per_second", board.per_second()},
            {"failed_per_second", board.failed_per_second()},
            {"running", running_workers(sources.processes)},
            {"unfinished", board.unfinished()},
            {"waiting", waiting_tasks_of(sources.leases)},
            {"ended", board.ended()},
            {"failed", board.failed()}}},
          {"workers", std::move(workers)},
          {"drivers", sources.roster.drivers().size()},
          {"actors", living_actors(sources)},
          {"jobs", {{"running", running_jobs}, {"pending", jobs.size() - running_jobs}}},
          {"waiting", waiting_groups({waiting_rows(sources.leases), actor_rows(sources, true), jobs,
                                      [&](ProcessId process) { return pid_of(sources, process); }})}};
}

const std::string& Dashboard::now_text() {
  if (now_text_.empty()) now_text_ = json_text(now());
  return now_text_;
}

json Dashboard::history(double seconds) {
  glance();
  dashboard::History::Columns rows = history_.columns(seconds, time_now());
  json fields = {"time"};
  json columns = json::array({std::move(rows.times)});
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    fields.push_back(dashboard::History::kFields.at(i));
    columns.push_back(std::move(rows.columns[i]));
  }
  return {{"schema", "fray/v1"},
          {"step_seconds", rows.step},
          {"fields", std::move(fields)},
          {"columns", std::move(columns)}};
}

json Dashboard::log(std::size_t lines, std::uint64_t* end) {
  return log_json(NodeLog::last_lines(std::min(lines, kMostLines), end));
}

json Dashboard::log_after(std::uint64_t* end) { return log_json(NodeLog::lines_after(end)); }

}  // namespace fray::node
