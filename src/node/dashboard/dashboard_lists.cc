// The lists of a Dashboard: actors, objects, workers and drivers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "node/actors/actor_carrier.h"
#include "node/dashboard/arranged_rows.h"
#include "node/dashboard/dashboard.h"
#include "node/jobs/job_carrier.h"
#include "node/objects/memory_carrier.h"
#include "node/objects/object_carrier.h"
#include "node/workers/lease_carrier.h"
#include "os/clock.h"
#include "os/process/process_facts.h"

namespace fray::node {

namespace {

using nlohmann::json;

constexpr std::size_t kMostCommand = 200;
constexpr std::size_t kMostHolders = 20;  // named of an object
constexpr std::chrono::seconds kStackPatience{15};
constexpr std::uint64_t kGrowthEveryNs = 5'000'000'000;
constexpr std::uint64_t kGrowthRest = 200;  // for one nanosecond of work: half a percent of a CPU

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

std::string object_name(const ObjectId& id) { return fmt::format("{}-{}", id.owner, id.sequence); }

// Reading them costs more than all else of a row: only those that are shown, or sorted by, have them.
void add_process_facts(json& row) {
  const bool lives = row["pid"].is_number();
  row["memory_bytes"] = lives ? json(os::private_memory_bytes(row["pid"].get<std::int32_t>())) : json(nullptr);
  if (row.contains("cpu_seconds") && lives) row["cpu_seconds"] = os::cpu_seconds(row["pid"].get<std::int32_t>());
}

// Sorts, keeps what was asked for, and adds what the kernel says of the processes.
std::size_t arrange_processes(std::vector<json>& rows, const ListQuery& query, std::string_view key) {
  const bool first = key == "memory_bytes" || key == "cpu_seconds";
  if (first) std::for_each(rows.begin(), rows.end(), add_process_facts);
  std::size_t total = 0;
  arrange(rows, query, key, &total);
  if (!first) std::for_each(rows.begin(), rows.end(), add_process_facts);
  return total;
}

struct ObjectRow {
  ObjectId id;
  std::uint64_t bytes = 0;
  const char* place = nullptr;
  const char* state = "pending";
  std::uint32_t containers = 0;
  std::vector<ProcessId> holders;
};

std::uint64_t bytes_of(const StatusSources& sources, const ObjectId& object) {
  const wire::Value* value = sources.objects.value_of(object);
  if (value == nullptr) return 0;
  return value->kind == wire::ValueKind::kSealed ? value->location.size : value->bytes.size();
}

ObjectRow object_row(const StatusSources& sources, const object::HolderTable::ObjectView& view) {
  ObjectRow row{view.id};
  row.state = view.lost ? "lost" : view.complete ? "complete" : "pending";
  row.containers = view.containers;
  if (const wire::Value* value = sources.objects.value_of(view.id)) {
    const bool is_shared = value->kind == wire::ValueKind::kSealed;
    row.bytes = bytes_of(sources, view.id);
    row.place = "inline";
    if (is_shared) {
      auto segment = sources.memory.table().open(value->location.segment);
      row.place = segment.is_ok() && segment->spilled ? "spilled" : "shared";
    }
  }
  row.holders = view.holders.values();
  return row;
}

bool is_before(const ObjectRow& a, const ObjectRow& b, std::string_view key, bool descending) {
  if (key == "object") return descending ? b.id < a.id : a.id < b.id;
  const std::size_t left = key == "bytes" ? a.bytes : a.holders.size();
  const std::size_t right = key == "bytes" ? b.bytes : b.holders.size();
  if (left == right) return a.id < b.id;
  return descending ? right < left : left < right;
}

// What `fray stack` said of one process. It prints a document where it could read no stack, too.
Result<json> stack_document(const Result<OwnPrograms::Answer>& answer) {
  if (!answer.is_ok()) return answer.status();
  json told = parse_json(answer.value().output);
  if (!told.is_object() || !told.contains("processes") || told["processes"].size() != 1) {
    return Status(StatusCode::kUnavailable, "the process has ended, or tells nothing");
  }
  json document = std::move(told["processes"][0]);
  document["schema"] = "fray/v1";
  if (document.value("problem", "").empty()) document["problem"] = nullptr;
  return document;
}

// The same with --seconds.
Result<json> flame_document(const Result<OwnPrograms::Answer>& answer) {
  if (!answer.is_ok()) return answer.status();
  json document = parse_json(answer.value().output);
  if (document.is_object() && document.contains("frames")) return document;
  return Status(StatusCode::kUnavailable, "the process has ended, or tells nothing");
}

}  // namespace

std::int32_t Dashboard::pid_of(const StatusSources& sources, ProcessId process) {
  auto worker = sources.processes.workers().find(process);
  if (worker != sources.processes.workers().end()) return worker->second.shown_pid();
  const Connection* connection = sources.roster.find(process);
  return connection == nullptr ? 0 : connection->pid;
}

json Dashboard::process_json(ProcessId process) const {
  const std::int32_t pid = pid_of(parts_.sources(), process);
  return {{"process", process}, {"pid", pid == 0 ? json(nullptr) : json(pid)}};
}

Result<json> Dashboard::actors(const ListQuery& query) {
  glance();
  FRAY_ASSIGN_OR_RETURN(
      const std::string_view key,
      sort_key(query, {"class", "name", "state", "restarts", "pending_calls", "memory_bytes", "running_seconds"}));
  const StatusSources sources = parts_.sources();
  std::vector<json> rows;
  for (const actor::ActorView& view : sources.actors.table().views()) {
    if (!has_text(view.class_name, query.search) && !has_text(view.name.value_or(""), query.search)) continue;
    const WaitReason why = sources.actors.why_waiting(view);
    json row = {{"actor", object_name(view.id)},
                {"class", view.class_name},
                {"name", view.name ? json(*view.name) : json(nullptr)},
                {"namespace", view.name_space},
                {"state", to_string(view.state)},
                {"detached", view.detached},
                {"pid", nullptr},
                {"process", nullptr},
                {"restarts", view.restarts},
                {"max_restarts", view.max_restarts},
                {"pending_calls", collector_.board().calls_of(view.id)},
                {"memory_bytes", nullptr},
                {"running", nullptr},
                {"running_seconds", nullptr},
                {"reason", text_or_null(why.text)},
                {"way_on", text_or_null(why.way_on)},
                {"error", text_or_null(view.death.text)}};
    auto worker = sources.processes.workers().find(view.worker);
    if (worker != sources.processes.workers().end()) {
      row["pid"] = worker->second.shown_pid();
      row["process"] = view.worker;
      if (std::string running = worker->second.view()->running_task(); !running.empty()) {
        const std::uint64_t since_ns = worker->second.view()->started_ns.load(std::memory_order_relaxed);
        row["running"] = std::move(running);
        row["running_seconds"] = static_cast<double>(os::monotonic_ns() - since_ns) / 1e9;
      }
    }
    rows.push_back(std::move(row));
  }
  const std::size_t total = arrange_processes(rows, query, key);
  return json{{"schema", "fray/v1"}, {"total", total}, {"actors", std::move(rows)}};
}

// A run and its first result have the same number; of many short runs that are one bar only the first is known.
Dashboard::Makers Dashboard::makers() const {
  Makers makers;
  for (const dashboard::Bar& bar : collector_.board().bars()) makers[{0, bar.client, bar.run.task}] = bar.function;
  return makers;
}

std::string Dashboard::maker_name(const Makers& makers, const ObjectId& object) const {
  auto found = makers.find({0, object.owner, object.sequence});
  return found == makers.end() ? std::string() : collector_.board().functions()[found->second].name;
}

void Dashboard::note_objects() {
  const std::uint64_t begin_ns = os::monotonic_ns();
  const StatusSources sources = parts_.sources();
  const Makers known = sources.objects.table().size() == 0 ? Makers() : makers();
  std::map<dashboard::Growth::Kind, dashboard::Growth::Sum> sums;
  sources.objects.table().visit([&](const object::HolderTable::ObjectView& view) {
    if (sources.actors.table().spec(view.id) != nullptr) return;  // a handle
    dashboard::Growth::Sum& sum = sums[{view.id.owner, maker_name(known, view.id)}];
    ++sum.count;
    sum.bytes += bytes_of(sources, view.id);
  });
  growth_.add(time_now(), sums);
  const std::uint64_t end_ns = os::monotonic_ns();
  growth_due_ns_ = end_ns + std::max(kGrowthEveryNs, kGrowthRest * (end_ns - begin_ns));
}

json Dashboard::growing_json() const {
  json rows = json::array();
  for (const dashboard::Growth::Row& each : growth_.rows()) {
    json row = process_json(each.kind.owner);
    row["function"] = text_or_null(each.kind.function);
    row["since"] = each.since;
    row["count_then"] = each.then.count;
    row["count"] = each.now.count;
    row["bytes_then"] = each.then.bytes;
    row["bytes"] = each.now.bytes;
    row["bytes_per_minute"] = static_cast<double>(each.now.bytes - each.then.bytes) * 60 / (each.until - each.since);
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<json> Dashboard::objects(const ListQuery& query) {
  glance();
  FRAY_ASSIGN_OR_RETURN(const std::string_view key, sort_key(query, {"bytes", "object", "holders"}));
  const StatusSources sources = parts_.sources();
  std::vector<ObjectRow> all;
  std::uint64_t bytes = 0;
  std::map<ProcessId, std::pair<std::uint64_t, std::uint64_t>> by_owner;  // count, bytes
  sources.objects.table().visit([&](const object::HolderTable::ObjectView& view) {
    if (sources.actors.table().spec(view.id) != nullptr) return;  // a handle
    all.push_back(object_row(sources, view));
    bytes += all.back().bytes;
    auto& owner = by_owner[view.id.owner];
    ++owner.first;
    owner.second += all.back().bytes;
  });
  const std::size_t total = all.size();
  const std::size_t wanted = std::min(total, std::min(query.after, total) + query.limit);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(),
                    [&](const ObjectRow& a, const ObjectRow& b) { return is_before(a, b, key, query.descending); });
  const Makers known = all.empty() ? Makers() : makers();
  json rows = json::array();
  for (std::size_t i = query.after; i < wanted; ++i) {
    const ObjectRow& row = all[i];
    json holders = json::array();
    for (ProcessId holder : row.holders) {
      if (holders.size() < kMostHolders) holders.push_back(process_json(holder));
    }
    rows.push_back({{"object", object_name(row.id)},
                    {"bytes", row.place == nullptr ? json(nullptr) : json(row.bytes)},
                    {"place", row.place == nullptr ? json(nullptr) : json(row.place)},
                    {"state", row.state},
                    {"function", text_or_null(maker_name(known, row.id))},
                    {"owner", process_json(row.id.owner)},
                    {"holders", std::move(holders)},
                    {"contained_in", row.containers}});
  }
  std::vector<json> owners;
  for (const auto& [process, sums] : by_owner) {
    json row = process_json(process);
    row["count"] = sums.first;
    row["bytes"] = sums.second;
    owners.push_back(std::move(row));
  }
  std::size_t owner_count = 0;
  arrange(owners, {}, "bytes", &owner_count);
  return json{
      {"schema", "fray/v1"},           {"total", total},           {"bytes", bytes}, {"objects", std::move(rows)},
      {"by_owner", std::move(owners)}, {"growing", growing_json()}};
}

Result<json> Dashboard::workers(const ListQuery& query) {
  glance();
  FRAY_ASSIGN_OR_RETURN(const std::string_view key, sort_key(query, {"process", "pid", "state", "task", "memory_bytes",
                                                                     "cpu_seconds", "running_seconds"}));
  const StatusSources sources = parts_.sources();
  std::vector<json> rows;
  for (const json& told : worker_rows(sources)) {
    const auto process = told["process"].get<ProcessId>();
    const auto task = told["task"].get<std::string>();
    if (!has_text(task, query.search)) continue;
    const std::optional<ActorId> actor = sources.actors.table().actor_of_worker(process);
    rows.push_back({{"process", process},
                    {"pid", told["pid"]},
                    {"number", collector_.board().worker_number(told["pid"].get<std::int32_t>(), process)},
                    {"state", told["state"]},
                    {"task", task.empty() ? json(nullptr) : json(task)},
                    {"running_seconds", told.value("running_seconds", json())},
                    {"stopped_seconds", told.value("stopped_seconds", json())},
                    {"client", told.contains("client") ? process_json(told["client"].get<ProcessId>()) : json(nullptr)},
                    {"resources", told.value("resources", json::object())},
                    {"devices", told.value("devices", json::object())},
                    {"memory_bytes", nullptr},
                    {"cpu_seconds", nullptr},
                    {"actor", actor ? json(object_name(*actor)) : json(nullptr)}});
  }
  const std::size_t total = arrange_processes(rows, query, key);
  return json{
      {"schema", "fray/v1"}, {"total", total}, {"workers", std::move(rows)}, {"drivers", drivers_json(sources)}};
}

void Dashboard::stack(std::int32_t pid, OnDocument on_document) {
  look_into(pid, {}, kStackPatience, stack_document, on_document);
}

void Dashboard::flame(std::int32_t pid, std::uint64_t seconds, OnDocument on_document) {
  look_into(pid, {"--seconds", std::to_string(seconds)}, kStackPatience + std::chrono::seconds(seconds), flame_document,
            on_document);
}

void Dashboard::look_into(std::int32_t pid, std::vector<std::string> more, std::chrono::seconds patience,
                          ReadStack read, const OnDocument& on_document) {
  glance();
  const StatusSources sources = parts_.sources();
  const auto& workers = sources.processes.workers();
  const std::vector<Connection*> drivers = sources.roster.drivers();
  const bool is_ours =
      pid != 0 &&
      (std::any_of(workers.begin(), workers.end(), [pid](const auto& each) { return each.second.pid == pid; }) ||
       std::any_of(drivers.begin(), drivers.end(), [pid](const Connection* each) { return each->pid == pid; }));
  if (!is_ours) {
    return on_document(
        Status(StatusCode::kNotFound, fmt::format("process {} is no worker or driver of this node", pid)));
  }
  OwnPrograms::Words words = {"stack", "--json", "--socket", parts_.socket, "--pid", std::to_string(pid)};
  words.insert(words.end(), more.begin(), more.end());
  auto started = parts_.programs.ask(
      words, patience, [on_document, read](const Result<OwnPrograms::Answer>& answer) { on_document(read(answer)); });
  if (!started.is_ok()) on_document(started.status());
}

json Dashboard::drivers_json(const StatusSources& sources) const {
  json rows = json::array();
  for (const Connection* driver : sources.roster.drivers()) {
    json row = {{"process", driver->process},
                {"pid", driver->pid},
                {"memory_bytes", nullptr},
                {"cpu_seconds", nullptr},
                {"command", os::command_line(driver->pid).substr(0, kMostCommand)},
                {"job", driver->job == 0 ? json(nullptr) : json(sources.jobs.job_of_home(driver->job))},
                {"unfinished", collector_.board().unfinished_of(driver->process)}};
    add_process_facts(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fray::node
