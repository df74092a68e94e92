#include "node/job_carrier.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/fault.h"
#include "node/job_description.h"
#include "os/child_processes.h"
#include "os/clock.h"
#include "os/run_folder.h"

namespace fray::node {

namespace {

using nlohmann::json;
using wire::ControlType;

constexpr std::chrono::milliseconds kFlushPause{100};
constexpr std::chrono::seconds kFlushRetryPause{1};
constexpr std::chrono::seconds kStopPatience{8};
constexpr std::chrono::milliseconds kShortestPrunePause{100};
constexpr std::chrono::minutes kLongestPrunePause{1};
constexpr int kMostAncestors = 256;

std::string text_of(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '_' || c == '-' || c == '~';
}

// Often enough for the age, and seldom enough to cost nothing.
std::chrono::nanoseconds prune_pause(const job::Retention& retention) {
  return std::clamp<std::chrono::nanoseconds>(retention.age / 4, kShortestPrunePause, kLongestPrunePause);
}

// Tests have the node die at a step of a job's life (docs/reference/faults.md).
void step(const char* name) {
  if (FRAY_FAULT(name, 0)) ::kill(::getpid(), SIGKILL);
}

// As a value in FRAY_CLUSTER_SPEC.
std::string quoted(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

}  // namespace

JobCarrier::JobCarrier(event::Loop& loop, os::Spawner& spawner, Roster& roster, LeaseCarrier& leases,
                       ActorCarrier& actors, Settings settings)
    : loop_(loop),
      roster_(roster),
      leases_(leases),
      actors_(actors),
      settings_(std::move(settings)),
      device_names_(settings_.gpus),
      folders_(settings_.folder),
      table_(settings_.total),
      processes_(loop, spawner,
                 [this](const std::string& job, std::uint32_t attempt, job::AttemptEnd end) {
                   attempt_ended(job, attempt, std::move(end));
                 }),
      logs_(loop, table_, folders_) {}

JobCarrier::~JobCarrier() {
  loop_.cancel(clock_timer_);
  loop_.cancel(flush_timer_);
  loop_.cancel(prune_timer_);
}

job::Now JobCarrier::now() {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return {job::Moment(os::monotonic_ns()), std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec};
}

// The time in milliseconds and chance: 16 characters that sort by time.
std::string JobCarrier::unique_name() {
  constexpr char kDigits[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<std::uint8_t, 7> chance{};
  if (::getrandom(chance.data(), chance.size(), 0) < 0) chance[0] = static_cast<std::uint8_t>(::getpid());
  auto milliseconds = static_cast<std::uint64_t>(now().unix_ns / 1'000'000);
  std::string name(9, '0');
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, milliseconds >>= 5)
    *digit = kDigits[milliseconds & 31];
  for (std::uint8_t byte : chance) name += kDigits[byte & 31];
  return name;
}

// ---- Records ----

// The folder is made when it is needed. An embedded node has no records.
Status JobCarrier::make_ready() {
  if (ready_) return Status::ok();
  if (settings_.embedded) {
    if (::mkdir(settings_.folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return Status::io_error("cannot create " + settings_.folder, errno);
    }
  } else {
    FRAY_RETURN_IF_ERROR(os::open_home_folder("jobs").status());
    FRAY_ASSIGN_OR_RETURN(store_, JobStore::open(settings_.folder, &rebuilt_));
  }
  ready_ = true;
  return Status::ok();
}

void JobCarrier::restore() {
  prune_later();
  // A home that never had jobs gets no folder of them before the first one.
  if (settings_.embedded || ::access(settings_.folder.c_str(), F_OK) != 0) return table_.restored(now());
  auto records = read_records();
  if (!records.is_ok()) {
    trouble_ = records.status().message();
    fmt::print(stderr, "fray node: jobs cannot be taken: {}\n", trouble_);
    return;
  }
  for (job::JobRecord& record : *records) table_.restore(std::move(record), now());
  table_.restored(now());
  prune();
  carry_out();
}

// Rows that nobody can read are taken from the folders, as all of them are where the database is lost.
Result<std::vector<job::JobRecord>> JobCarrier::read_records() {
  FRAY_RETURN_IF_ERROR(make_ready());
  if (!rebuilt_.empty()) return rebuild_records();
  FRAY_ASSIGN_OR_RETURN(std::vector<JobStore::Row> rows, store_->read());
  std::vector<job::JobRecord> records;
  std::set<std::string> known;
  for (const JobStore::Row& row : rows) {
    auto record = job::JobRecord::parse(row.record);
    if (!record.is_ok()) {
      rebuilt_ = fmt::format("the record of the job {} cannot be read", row.id);
      return rebuild_records();
    }
    known.insert(row.id);
    records.push_back(std::move(record).value());
  }
  folders_.remove_unknown(known);
  return records;
}

Result<std::vector<job::JobRecord>> JobCarrier::rebuild_records() {
  std::vector<job::JobRecord> records = folders_.read_all();
  if (records.empty()) rebuilt_.clear();  // nothing was lost
  if (rebuilt_.empty()) return records;
  rebuilt_ += fmt::format("; {} jobs are known again from their folders", records.size());
  fmt::print(stderr, "fray node: the records of jobs were damaged: {}\n", rebuilt_);
  std::vector<JobStore::Row> rows;
  for (const job::JobRecord& record : records) rows.push_back({record.spec.id, record.json()});
  if (Status kept = store_->keep(rows); !kept.is_ok()) trouble_ = kept.message();
  return records;
}

void JobCarrier::prune_later() {
  prune_timer_ = loop_.after(prune_pause(settings_.rules.retention), [this] {
    prune();
    prune_later();
  });
}

void JobCarrier::prune() {
  std::set<std::string> needed;
  for (const auto& [id, wait] : waits_) needed.insert(wait.ids.begin(), wait.ids.end());
  table_.prune(settings_.rules.retention, needed, now());
}

Status JobCarrier::keep_accepted(const JobSpec& spec) {
  const job::JobRecord* record = table_.record(spec.id);
  FRAY_RETURN_IF_ERROR(folders_.make(spec, *record));
  step("node.dies.unrecorded");
  std::string text = record->json();
  if (store_) {
    Status kept = store_->keep({{spec.id, text}});
    if (!kept.is_ok()) folders_.remove(spec.id);
    FRAY_RETURN_IF_ERROR(kept);
  }
  step("node.dies.accepted");
  written_[spec.id] = std::move(text);
  return Status::ok();
}

// Records that something follows from are written now, the others soon.
void JobCarrier::keep_records(const std::vector<job::Command>& commands) {
  bool matters = false;
  for (const job::Command& command : commands) {
    if (const auto* record = std::get_if<job::Record>(&command)) {
      unwritten_.insert(record->job);
    } else {
      matters = true;
    }
  }
  if (!store_ || unwritten_.empty()) return unwritten_.clear();
  if (matters) return flush_records();
  if (flush_timer_ == 0) {
    flush_timer_ = loop_.after(kFlushPause, [this] {
      flush_timer_ = 0;
      flush_records();
    });
  }
}

void JobCarrier::flush_records() {
  std::vector<JobStore::Row> rows;
  for (const std::string& id : unwritten_) {
    const job::JobRecord* record = table_.record(id);
    if (record == nullptr) continue;
    std::string text = record->json();
    if (auto known = written_.find(id); known == written_.end() || known->second != text) rows.push_back({id, text});
  }
  if (!rows.empty()) {
    Status kept = store_->keep(rows);
    if (!kept.is_ok()) {
      if (trouble_.empty()) fmt::print(stderr, "fray node: {}; jobs go on, and none is taken\n", kept.message());
      trouble_ = kept.message();
      if (flush_timer_ == 0 && kept.code() == StatusCode::kResourceExhausted) {
        flush_timer_ = loop_.after(kFlushRetryPause, [this] {
          flush_timer_ = 0;
          flush_records();
        });
      }
      return;
    }
  }
  unwritten_.clear();
  trouble_.clear();
  for (JobStore::Row& row : rows) written_[row.id] = std::move(row.record);
  std::erase_if(written_, [this](const auto& each) {
    const job::JobRecord* record = table_.record(each.first);
    return record == nullptr || job::is_final(record->state);
  });
}

// ---- Requests ----

Result<std::string> JobCarrier::submit(JobSpec spec, pid_t submitter) {
  FRAY_RETURN_IF_ERROR(make_ready());
  if (spec.id.empty()) spec.id = make_job_id(spec.name, unique_name());
  JobSpec recorded = spec;
  recorded.environment.clear();
  recorded.call.clear();
  const ProcessId home = home_of_process(submitter);
  const std::string parent = job_of_home(home);
  const job::JobRecord* above = table_.record(parent);
  FRAY_RETURN_IF_ERROR(table_.accept(std::move(recorded), parent, above == nullptr ? 0 : above->attempt, now()));
  if (Status kept = keep_accepted(spec); !kept.is_ok()) {
    table_.withdraw(spec.id);
    return Status(kept.code(), "the job cannot be taken: " + kept.message());
  }
  if (home != 0) {
    lenders_[spec.id] = home;
    leases_.job_waits(home, true);
  }
  return spec.id;
}

json JobCarrier::describe_one(const std::string& id) const {
  auto view = table_.view(id);
  if (!view) return nullptr;
  json document = describe(*view);
  const pid_t pid = processes_.pid(id);
  document["supervisor_pid"] = pid == 0 ? json(nullptr) : json(pid);
  return document;
}

std::string JobCarrier::description(const std::string& id) const { return text_of(describe_one(id)); }

Result<std::string> JobCarrier::descriptions(const std::vector<std::string>& ids) const {
  json rows = json::array();
  for (const std::string& id : ids.empty() ? table_.ids() : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string whole, ids.empty() ? Result<std::string>(id) : table_.find(id));
    rows.push_back(describe_one(whole));
  }
  return text_of(rows);
}

Status JobCarrier::stop(const std::string& id, const std::string& reason) {
  FRAY_RETURN_IF_ERROR(table_.find(id).status());
  table_.stop(id, reason, now());
  return Status::ok();
}

Status JobCarrier::remove(const std::string& id) { return table_.remove(id); }

Result<JobCarrier::WaitId> JobCarrier::wait(const std::vector<std::string>& ids, pid_t waiter,
                                            std::function<void(const std::string& json)> on_done) {
  Wait wait;
  for (const std::string& id : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string whole, table_.find(id));
    wait.ids.push_back(whole);
    if (!job::is_final(table_.record(whole)->state)) wait.left.insert(whole);
  }
  if (wait.left.empty()) {
    FRAY_ASSIGN_OR_RETURN(std::string text, ids.empty() ? Result<std::string>("[]") : descriptions(wait.ids));
    on_done(text);
    return WaitId{0};
  }
  wait.waiter = home_of_process(waiter);
  wait.on_done = std::move(on_done);
  if (wait.waiter != 0) leases_.job_waits(wait.waiter, true);
  waits_.emplace(++last_wait_, std::move(wait));
  return last_wait_;
}

void JobCarrier::cancel_wait(WaitId id) {
  auto found = waits_.find(id);
  if (found == waits_.end()) return;
  if (found->second.waiter != 0) leases_.job_waits(found->second.waiter, false);
  waits_.erase(found);
}

void JobCarrier::finish_waits(const std::string& job) {
  std::vector<WaitId> done;
  for (auto& [id, wait] : waits_) {
    if (wait.left.erase(job) > 0 && wait.left.empty()) done.push_back(id);
  }
  for (WaitId id : done) {
    const Wait wait = std::move(waits_.at(id));
    waits_.erase(id);
    if (wait.waiter != 0) leases_.job_waits(wait.waiter, false);
    auto text = descriptions(wait.ids);
    wait.on_done(text.is_ok() ? *text : "[]");
  }
}

// ---- Commands ----

bool JobCarrier::carry_out() {
  bool something = false;
  while (true) {
    std::vector<job::Command> commands = table_.take_commands();
    // What has been decided comes first: a job that is found again holds what it held.
    if (commands.empty() && table_.has_queued()) {
      table_.offer(leases_.table().room_for_jobs());
      commands = table_.take_commands();
    }
    if (commands.empty()) break;
    something = true;
    keep_records(commands);
    for (const job::Command& command : commands) {
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
  }
  watch_clock();
  return something;
}

void JobCarrier::carry_out(const job::Prepare& command) {
  const job::JobRecord* record = table_.record(command.job);
  if (record == nullptr) return;
  if (environments_ == nullptr) {
    return table_.prepare_failed(command.job, "this node builds no environments", now());
  }
  const std::string job = command.job;
  environments_->prepare(
      job, record->spec.runtime_env, [this, job](const std::string& text) { table_.preparing(job, text); },
      [this, job](Result<JobEnvironments::Apply> apply) {
        if (!apply.is_ok()) return table_.prepare_failed(job, apply.status().message(), now());
        environment_of_[job] = std::move(apply).value();
        folders_.keep_in_use(job, environments_->in_use(job));
        table_.prepared(job);
      });
}

void JobCarrier::begin_home(const std::string& job) {
  const ProcessId home = roster_.new_process();
  homes_[job] = home;
  actors_.client_joined(home);
}

void JobCarrier::carry_out(const job::Start& command) {
  step("node.dies.starting");
  begin_home(command.job);
  const DeviceSet devices = leases_.job_started(homes_[command.job], table_.resources(command.job));
  Status launched = launch(command, devices);
  if (launched.is_ok()) {
    step("node.dies.started");
    table_.started(command.job, command.attempt, now());
    return logs_.changed(command.job);
  }
  job::AttemptEnd end;
  end.kind = job::AttemptEnd::Kind::kNotStarted;
  end.text = launched.message();
  attempt_ended(command.job, command.attempt, std::move(end));
}

Status JobCarrier::launch(const job::Start& command, const DeviceSet& devices) {
  FRAY_ASSIGN_OR_RETURN(supervisor::Order order, order_for(command, devices));
  return processes_.start(folders_.path(command.job), order);
}

Result<supervisor::Order> JobCarrier::order_for(const job::Start& command, const DeviceSet& devices) {
  const JobSpec& spec = table_.record(command.job)->spec;
  supervisor::Order order;
  order.job = spec.id;
  order.attempt = command.attempt;
  order.replicas = spec.replicas;
  order.grace_seconds = spec.grace_seconds;
  order.environment_file = folders_.environment_path(spec.id);
  if (settings_.embedded) order.dies_with = ::getpid();
  order.variables = device_names_.environment(devices);
  const std::string call = folders_.call_path(spec.id);
  if (::access(call.c_str(), F_OK) == 0) order.variables.emplace_back("FRAY_JOB_CALL", call);
  order.variables.insert(order.variables.end(),
                         {{"FRAY_JOB_ID", spec.id},
                          {"FRAY_JOB_NAME", spec.name},
                          {"FRAY_JOB_ATTEMPT", std::to_string(command.attempt)},
                          {"FRAY_NODE", settings_.node_address},
                          {"FRAY_CLUSTER_SPEC", "local?address=" + quoted(settings_.node_address)}});
  JobLaunch launch{spec.command, spec.folder, {}, limits_of(spec)};
  if (auto apply = environment_of_.find(spec.id); apply != environment_of_.end()) {
    FRAY_ASSIGN_OR_RETURN(launch.environment, folders_.environment(spec.id));
    apply->second(launch);
    FRAY_ASSIGN_OR_RETURN(order.environment_file, folders_.write_changed(spec.id, launch.environment));
  }
  order.command = std::move(launch.command);
  order.folder = std::move(launch.folder);
  order.limits = launch.limits;
  return order;
}

// What a job holds of the memory is what it may use.
os::LimitRequest JobCarrier::limits_of(const JobSpec& spec) const {
  os::LimitRequest limits;
  limits.memory_bytes = static_cast<std::uint64_t>(spec.resources.amount("memory") * spec.replicas);
  limits.processes_by_group_only = spec.max_processes == 0;
  limits.processes = spec.max_processes == 0 ? settings_.rules.max_processes : spec.max_processes;
  limits.files = spec.max_files;
  return limits;
}

void JobCarrier::carry_out(const job::Find& command) {
  job::AttemptEnd end;
  switch (processes_.look(folders_.path(command.job), command.job, command.attempt, &end)) {
    case JobProcesses::Found::kNeverBegan:
      return table_.not_begun(command.job, command.attempt);
    case JobProcesses::Found::kEnded:
      return attempt_ended(command.job, command.attempt, std::move(end));
    case JobProcesses::Found::kRuns:
      begin_home(command.job);
      leases_.job_started(homes_[command.job], table_.resources(command.job));
      if (environments_ != nullptr) environments_->hold(command.job, folders_.in_use(command.job));
      table_.started(command.job, command.attempt, now());
  }
}

void JobCarrier::carry_out(const job::Stop& command) {
  step("node.dies.stopping");
  processes_.signal(command.job, SIGTERM);
}

void JobCarrier::attempt_ended(const std::string& job, std::uint32_t attempt, job::AttemptEnd end) {
  step("node.dies.attempt_ended");
  table_.attempt_ended(job, attempt, std::move(end), now());
}

void JobCarrier::carry_out(const job::AttemptOver& command) {
  step("node.dies.attempt_over");
  if (auto found = homes_.find(command.job); found != homes_.end()) {
    for (auto& [id, wait] : waits_) {
      if (wait.waiter == found->second) wait.waiter = 0;
    }
    std::erase_if(lenders_, [&](const auto& each) { return each.second == found->second; });
    leases_.job_ended(found->second);
    actors_.client_left(found->second);
    homes_.erase(found);
  }
  logs_.changed(command.job);
}

void JobCarrier::carry_out(const job::Ended& command) {
  step("node.dies.end_recorded");
  if (auto lender = lenders_.extract(command.job)) leases_.job_waits(lender.mapped(), false);
  if (environments_ != nullptr) environments_->forget(command.job);
  environment_of_.erase(command.job);
  folders_.keep_end(*table_.record(command.job));
  step("node.dies.end_kept");
  logs_.changed(command.job);
  finish_waits(command.job);
}

void JobCarrier::carry_out(const job::Remove& command) {
  if (store_) {
    if (Status removed = store_->remove(command.job); !removed.is_ok()) trouble_ = removed.message();
  }
  step("node.dies.removing");
  folders_.remove(command.job);
  logs_.changed(command.job);
}

void JobCarrier::stop_all() {
  if (settings_.embedded) return;  // they end with this process
  table_.stop_all("the node was stopped", now());
  carry_out();
  processes_.end_all(kStopPatience);
  carry_out();
  if (store_) flush_records();
}

void JobCarrier::watch_clock() {
  const std::optional<job::Moment> due = table_.next_due();
  if (due && clock_timer_ != 0 && *due == clock_due_) return;
  loop_.cancel(clock_timer_);
  clock_timer_ = 0;
  if (!due) return;
  clock_due_ = *due;
  clock_timer_ = loop_.after(std::max(job::Moment(0), *due - now().steady), [this] {
    clock_timer_ = 0;
    table_.tick(now());
  });
}

// ---- Processes ----

ProcessId JobCarrier::home_of_process(pid_t pid) const {
  for (int left = kMostAncestors; left > 0 && pid > 1; --left) {
    if (const std::string job = processes_.job_of(pid); !job.empty()) {
      auto home = homes_.find(job);
      return home == homes_.end() ? 0 : home->second;
    }
    const ProcessId tree = tree_of_ ? tree_of_(pid) : 0;
    if (tree != 0 && !job_of_home(tree).empty()) return tree;
    pid = os::parent_of(pid);
  }
  return 0;
}

std::string JobCarrier::job_of_home(ProcessId home) const {
  for (const auto& [job, each] : homes_) {
    if (home != 0 && each == home) return job;
  }
  return "";
}

ProcessId JobCarrier::top_home(ProcessId home) const {
  const job::JobRecord* record = table_.record(job_of_home(home));
  while (record != nullptr && !record->parent.empty()) {
    auto above = homes_.find(record->parent);
    if (above == homes_.end()) break;
    home = above->second;
    record = table_.record(record->parent);
  }
  return home;
}

// ---- Messages ----

Status JobCarrier::handle(Connection& connection, ControlType type, wire::Incoming& frame) {
  const std::uint64_t ticket = frame.header.id;
  if (type == ControlType::kSubmitJob) {
    FRAY_ASSIGN_OR_RETURN(wire::SubmitJob message, wire::SubmitJob::decode(frame.body));
    submit(connection, ticket, std::move(message.spec));
    return Status::ok();
  }
  if (type == ControlType::kOpenJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::OpenJobLog message, wire::OpenJobLog::decode(frame.body));
    connection.send(ControlType::kJobLogOpened, ticket, logs_.open(message));
    return Status::ok();
  }
  if (type == ControlType::kReadJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::ReadJobLog message, wire::ReadJobLog::decode(frame.body));
    read_log(connection, ticket, std::move(message));
    return Status::ok();
  }
  FRAY_ASSIGN_OR_RETURN(wire::JobNames names, wire::JobNames::decode(frame.body));
  if (type == ControlType::kWaitJobs) {
    wait(connection, ticket, names);
    return Status::ok();
  }
  Result<std::string> found = descriptions(names.ids);
  if (type == ControlType::kGetJobs || !found.is_ok() || names.ids.empty()) {
    answer(connection, ticket, found);
    return Status::ok();
  }
  Status done;
  for (const std::string& name : names.ids) {
    const std::string id = table_.find(name).value();
    Status one = type == ControlType::kStopJob ? stop(id) : remove(id);
    if (!one.is_ok()) done = one;
  }
  if (type == ControlType::kStopJob) found = descriptions(names.ids);
  answer(connection, ticket, done.is_ok() ? found : Result<std::string>(done));
  return Status::ok();
}

void JobCarrier::submit(Connection& connection, std::uint64_t ticket, JobSpec spec) {
  Result<std::string> id = submit(std::move(spec), connection.pid);
  answer(connection, ticket, id.is_ok() ? Result<std::string>(description(*id)) : id);
}

void JobCarrier::wait(Connection& connection, std::uint64_t ticket, const wire::JobNames& names) {
  Connection* asker = &connection;
  auto id = std::make_shared<WaitId>(0);
  Result<WaitId> begun = wait(names.ids, connection.pid, [this, asker, ticket, id](const std::string& text) {
    if (auto found = pending_.find(asker); found != pending_.end()) found->second.waits.erase(*id);
    answer(*asker, ticket, text);
  });
  if (!begun.is_ok()) return answer(connection, ticket, begun.status());
  *id = *begun;
  if (*begun != 0) pending_[asker].waits.insert(*begun);
}

void JobCarrier::read_log(Connection& connection, std::uint64_t ticket, wire::ReadJobLog request) {
  Connection* asker = &connection;
  auto id = std::make_shared<JobLogs::ReaderId>(0);
  *id = logs_.read(std::move(request), [this, asker, ticket, id](const wire::JobLogPieces& pieces) {
    if (auto found = pending_.find(asker); found != pending_.end()) found->second.readers.erase(*id);
    asker->send(ControlType::kJobLogPieces, ticket, pieces);
  });
  if (*id != 0) pending_[asker].readers.insert(*id);
}

void JobCarrier::connection_ended(Connection& connection) {
  auto found = pending_.extract(&connection);
  if (!found) return;
  for (WaitId wait : found.mapped().waits) cancel_wait(wait);
  for (JobLogs::ReaderId reader : found.mapped().readers) logs_.cancel(reader);
}

void JobCarrier::answer(Connection& connection, std::uint64_t ticket, const Result<std::string>& json) {
  wire::JobAnswer message;
  if (json.is_ok()) {
    message.json = json.value();
  } else {
    message.code = json.status().code();
    message.message = json.status().message();
  }
  connection.send(ControlType::kJobAnswer, ticket, message);
}

}  // namespace fray::node
