#include "node/status_report.h"

#include <algorithm>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "node/actors/actor_carrier.h"
#include "node/jobs/job_carrier.h"
#include "node/objects/memory_carrier.h"
#include "node/objects/object_carrier.h"
#include "node/sessions/roster.h"
#include "node/workers/lease_carrier.h"
#include "node/workers/reservation_keeper.h"
#include "node/workers/worker_processes.h"
#include "node/workers/worker_watch.h"
#include "os/clock.h"
#include "scheduler/wait_reasons.h"

namespace fray::node {

namespace {

using nlohmann::json;

double seconds_since(std::uint64_t then_ns) {
  std::uint64_t now = os::monotonic_ns();
  return now > then_ns ? static_cast<double>(now - then_ns) / 1e9 : 0.0;
}

json resources(const ResourceSet& set) {
  json amounts = json::object();
  for (const auto& [name, units] : set.units()) amounts[name] = set.amount(name);
  return amounts;
}

// Adds the shape of a lease or a demand.
void add_shape(json& row, const WorkShape& shape) {
  WorkShape::visit(shape, [&row](const char* name, const auto& field) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(field)>>) {
      row[name] = field;
    } else {
      row[name] = resources(field);
    }
  });
}

// Lists every resource of the node, also those of which nothing is free.
json free_resources(const ResourceSet& free, const ResourceSet& total) {
  json amounts = json::object();
  for (const auto& [name, units] : total.units()) amounts[name] = free.amount(name);
  return amounts;
}

const scheduler::HeldLease* lease_of(const scheduler::LeaseTable& table, const scheduler::Worker* entry) {
  return entry == nullptr ? nullptr : table.ledger().find(entry->lease);
}

// One of kWorkerStates.
const char* state_name(const StatusSources& sources, ProcessId process, const WorkerProcess& worker) {
  if (sources.watch.stopped_since_ns(process) != 0) return "stopped";
  const scheduler::LeaseTable& table = sources.leases.table();
  const scheduler::Worker* entry = table.workers().find(process);
  if (entry == nullptr || entry->state == scheduler::WorkerState::kStarting) return "starting";
  if (entry->doomed || entry->state == scheduler::WorkerState::kEnding) return "ending";
  const scheduler::HeldLease* lease = lease_of(table, entry);
  if (lease != nullptr && lease->blocked) return "blocked";
  if (worker.view()->state.load(std::memory_order_relaxed) == WorkerState::kRunning) return "running";
  return entry->state == scheduler::WorkerState::kLeased ? "leased" : "idle";
}

json clients(const Roster& roster) {
  json rows = json::array();
  for (const Connection* driver : roster.drivers())
    rows.push_back({{"process", driver->process}, {"pid", driver->pid}});
  return rows;
}

}  // namespace

std::array<std::size_t, kWorkerStates.size()> workers_by_state(const StatusSources& sources) {
  std::array<std::size_t, kWorkerStates.size()> counts{};
  for (const auto& [process, worker] : sources.processes.workers()) {
    const auto found = std::find(kWorkerStates.begin(), kWorkerStates.end(), state_name(sources, process, worker));
    ++counts.at(static_cast<std::size_t>(found - kWorkerStates.begin()));
  }
  return counts;
}

std::size_t living_actors(const StatusSources& sources) {
  const std::vector<actor::ActorView> views = sources.actors.table().views();
  return static_cast<std::size_t>(std::count_if(
      views.begin(), views.end(), [](const actor::ActorView& view) { return view.state != actor::ActorState::kDead; }));
}

json resources_json(const StatusSources& sources) {
  return {{"total", resources(sources.total)}, {"free", free_resources(sources.leases.table().free(), sources.total)}};
}

json worker_rows(const StatusSources& sources) {
  const scheduler::LeaseTable& table = sources.leases.table();
  json rows = json::array();
  for (const auto& [process, worker] : sources.processes.workers()) {
    const scheduler::HeldLease* lease = lease_of(table, table.workers().find(process));
    std::string task = worker.view()->running_task();
    json row = {{"process", process},
                {"pid", worker.shown_pid()},
                {"state", state_name(sources, process, worker)},
                {"task", task}};
    if (!task.empty()) {
      row["running_seconds"] = seconds_since(worker.view()->started_ns.load(std::memory_order_relaxed));
      row["task_number"] = worker.view()->task_number.load(std::memory_order_relaxed);
      row["caller"] = worker.view()->caller.load(std::memory_order_relaxed);
    }
    if (std::uint64_t since_ns = sources.watch.stopped_since_ns(process); since_ns != 0) {
      row["stopped_seconds"] = seconds_since(since_ns);
    }
    if (lease != nullptr) {
      row["client"] = lease->client;
      add_shape(row, lease->shape);
    }
    if (const DeviceSet* devices = table.state().devices.of(process)) row["devices"] = *devices;
    rows.push_back(std::move(row));
  }
  return rows;
}

json waiting_rows(const LeaseCarrier& leases) {
  json rows = json::array();
  const scheduler::LeaseState& state = leases.table().state();
  for (const scheduler::Demand* demand : state.demands.all()) {
    const scheduler::DemandChange& wanted = demand->wanted;
    WaitReason why{leases.env_reason(demand->client, wanted.demand), kEnvWayOn};
    if (why.text.empty()) why = scheduler::wait_reason(state, *demand);
    const scheduler::Moment since = demand->waiting_since.value_or(state.now);
    json row = {
        {"client", demand->client},      {"demand", wanted.demand},
        {"count", wanted.count},         {"waiting_seconds", seconds_since(static_cast<std::uint64_t>(since.count()))},
        {"reason", std::move(why.text)}, {"way_on", std::move(why.way_on)}};
    add_shape(row, wanted.shape);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Those that are dead and still have handles are nobody's business here.
json actor_rows(const StatusSources& sources, bool only_waiting) {
  json rows = json::array();
  for (const actor::ActorView& view : sources.actors.table().views()) {
    if (view.state == actor::ActorState::kDead) continue;
    const WaitReason why = sources.actors.why_waiting(view);
    if (only_waiting && why.text.empty()) continue;
    json row = {{"class", view.class_name},  {"namespace", view.name_space},      {"state", to_string(view.state)},
                {"restarts", view.restarts}, {"max_restarts", view.max_restarts}, {"detached", view.detached}};
    if (view.name) row["name"] = *view.name;
    auto worker = sources.processes.workers().find(view.worker);
    if (worker != sources.processes.workers().end()) row["pid"] = worker->second.shown_pid();
    if (!why.text.empty()) {
      row["reason"] = why.text;
      row["way_on"] = why.way_on;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json reservation_rows(const StatusSources& sources) {
  const scheduler::LeaseTable& table = sources.leases.table();
  json rows = json::array();
  for (const auto& [name, entry] : sources.reservations.entries()) {
    json row = {{"name", name}, {"about", entry.about}, {"reserved", table.reservations().is_reserved(entry.home)}};
    if (WaitReason why = scheduler::why_waiting(table.state(), entry.home); !why.text.empty()) {
      row["reason"] = std::move(why.text);
      row["way_on"] = std::move(why.way_on);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json job_rows(const JobCarrier& carrier) {
  json rows = json::array();
  for (const std::string& id : carrier.table().living()) {
    const job::JobView view = *carrier.table().view(id);
    json row = {{"id", id}, {"phase", to_string(view.phase)}, {"pid", carrier.supervisor_of(id)}};
    if (!view.pending_reason.empty()) {
      row["reason"] = view.pending_reason;
      row["way_on"] = view.way_on;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json status_json(const StatusSources& sources) {
  const scheduler::LeaseTable& table = sources.leases.table();
  const store::SegmentTable& memory = sources.memory.table();
  const Roster::Counters& counters = sources.roster.counters();
  return {
      {"schema", "fray/v1"},
      {"node",
       {{"pid", ::getpid()},
        {"release", sources.release},
        {"session_folder", sources.session_folder},
        {"uptime_seconds", seconds_since(sources.started_ns)},
        {"max_workers", sources.max_workers},
        {"worker_keys", sources.leases.keys().size()}}},
      {"resources", resources_json(sources)},
      {"clients", clients(sources.roster)},
      {"workers", worker_rows(sources)},
      {"waiting", waiting_rows(sources.leases)},
      {"actors", actor_rows(sources, false)},
      {"reservations", reservation_rows(sources)},
      {"jobs", job_rows(sources.jobs)},
      {"job_records", {{"trouble", sources.jobs.trouble()}, {"rebuilt", sources.jobs.rebuilt()}}},
      {"objects", {{"count", sources.objects.table().size()}, {"inline_bytes", sources.objects.inline_bytes()}}},
      {"store",
       {{"used_bytes", memory.used()},
        {"limit_bytes", memory.limit()},
        {"spilled_bytes", memory.spilled_bytes()},
        {"segments", memory.size()}}},
      {"counters",
       {{"accepted", counters.accepted},
        {"foreign_users", counters.foreign_users},
        {"broken_frames", counters.broken_frames},
        {"slow_readers", counters.slow_readers},
        {"contradictions", table.state().contradictions + sources.objects.table().contradictions() +
                               sources.actors.table().contradictions() + sources.jobs.table().contradictions()}}},
  };
}

// Names of tasks may hold any bytes.
std::string status_report(const StatusSources& sources) { return json_text(status_json(sources)); }

}  // namespace fray::node
