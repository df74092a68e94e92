#include "node/jobs/job_carrier.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <ctime>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "node/jobs/job_step.h"
#include "os/clock.h"
#include "os/process/child_processes.h"

namespace fray::node {

namespace {

constexpr std::chrono::seconds kStopPatience{8};
constexpr std::chrono::milliseconds kShortestPrunePause{100};
constexpr std::chrono::minutes kLongestPrunePause{1};
constexpr int kMostAncestors = 256;

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '_' || c == '-' || c == '~';
}

// A fraction of the age limit: often enough to keep it, and rarely enough to cost nothing.
std::chrono::nanoseconds prune_pause(const job::Retention& retention) {
  return std::clamp<std::chrono::nanoseconds>(retention.age / 4, kShortestPrunePause, kLongestPrunePause);
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
                       ActorCarrier& actors, JobEnvironments& environments, TreeOf tree_of, Settings settings)
    : loop_(loop),
      roster_(roster),
      leases_(leases),
      actors_(actors),
      environments_(environments),
      tree_of_(std::move(tree_of)),
      settings_(std::move(settings)),
      device_names_(settings_.gpus),
      folders_(settings_.folder),
      table_(settings_.total),
      records_(loop, table_, folders_, !settings_.embedded),
      processes_(loop, spawner,
                 [this](const std::string& job, std::uint32_t attempt, job::AttemptEnd end) {
                   attempt_ended(job, attempt, std::move(end));
                 }),
      logs_(loop, table_, folders_) {}

JobCarrier::~JobCarrier() {
  loop_.cancel(clock_timer_);
  loop_.cancel(prune_timer_);
}

job::Now JobCarrier::now() { return {job::Moment(os::monotonic_ns()), os::unix_ns()}; }

// The time in milliseconds and random digits: 16 characters that sort by time.
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

// ---- Records of earlier nodes ----

void JobCarrier::restore() {
  prune_later();
  // A home without jobs gets no folder for them before the first job.
  if (settings_.embedded || ::access(settings_.folder.c_str(), F_OK) != 0) return table_.restored(now());
  auto records = records_.read();
  if (!records.is_ok()) return;
  for (job::JobRecord& record : *records) table_.restore(std::move(record), now());
  table_.restored(now());
  prune();
  carry_out();
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

// ---- Requests ----

Result<std::string> JobCarrier::submit(JobSpec spec, pid_t submitter) {
  FRAY_RETURN_IF_ERROR(records_.make_ready());
  if (spec.id.empty()) spec.id = make_job_id(spec.name, unique_name());
  JobSpec recorded = spec;
  JobSpec::visit_secrets(recorded, [](const JobField&, auto& secret) { secret.clear(); });
  const ProcessId home = home_of_process(submitter);
  const std::string parent = job_of_home(home);
  const job::JobRecord* above = table_.record(parent);
  FRAY_RETURN_IF_ERROR(table_.accept(std::move(recorded), parent, above == nullptr ? 0 : above->attempt, now()));
  if (Status kept = records_.keep_accepted(spec); !kept.is_ok()) {
    table_.withdraw(spec.id);
    return Status(kept.code(), "the job cannot be taken: " + kept.message());
  }
  if (home != 0) {
    lenders_[spec.id] = home;
    leases_.jobs().waits(home, true);
  }
  return spec.id;
}

Result<std::vector<JobInfo>> JobCarrier::infos(const std::vector<std::string>& ids) const {
  std::vector<JobInfo> found;
  for (const std::string& name : ids.empty() ? table_.ids() : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string id, ids.empty() ? Result<std::string>(name) : table_.find(name));
    found.push_back(*table_.info(id));
    found.back().supervisor_pid = processes_.pid(id);
  }
  return found;
}

Status JobCarrier::stop(const std::string& id, const std::string& reason) {
  FRAY_RETURN_IF_ERROR(table_.find(id).status());
  table_.stop(id, reason, now());
  return Status::ok();
}

Status JobCarrier::remove(const std::string& id) { return table_.remove(id); }

Result<JobCarrier::WaitId> JobCarrier::wait(const std::vector<std::string>& ids, pid_t waiter, OnEnded on_done) {
  Wait wait;
  for (const std::string& id : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string whole, table_.find(id));
    wait.ids.push_back(whole);
    if (!job::is_final(table_.record(whole)->state)) wait.left.insert(whole);
  }
  if (wait.left.empty()) {
    on_done(ids.empty() ? std::vector<JobInfo>() : infos(wait.ids));
    return WaitId{0};
  }
  wait.waiter = home_of_process(waiter);
  wait.on_done = std::move(on_done);
  if (wait.waiter != 0) leases_.jobs().waits(wait.waiter, true);
  waits_.emplace(++last_wait_, std::move(wait));
  return last_wait_;
}

void JobCarrier::cancel_wait(WaitId id) {
  auto found = waits_.find(id);
  if (found == waits_.end()) return;
  if (found->second.waiter != 0) leases_.jobs().waits(found->second.waiter, false);
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
    if (wait.waiter != 0) leases_.jobs().waits(wait.waiter, false);
    wait.on_done(infos(wait.ids));
  }
}

// ---- Commands ----

bool JobCarrier::carry_out() {
  bool something = false;
  while (true) {
    std::vector<job::Command> commands = table_.take_commands();
    // Commands come before the queue: an adopted job must hold its resources before queued jobs are considered.
    if (commands.empty() && table_.has_queued()) {
      table_.offer(leases_.jobs().room());
      commands = table_.take_commands();
    }
    if (commands.empty()) break;
    something = true;
    records_.keep(commands);
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
  const std::string job = command.job;
  environments_.prepare(
      job, record->spec.runtime_env, [this, job](const std::string& text) { table_.preparing(job, text); },
      [this, job](Result<JobEnvironments::Apply> apply) {
        if (!apply.is_ok()) return table_.prepare_failed(job, apply.status().message(), now());
        environment_of_[job] = std::move(apply).value();
        folders_.keep_in_use(job, environments_.in_use(job));
        table_.prepared(job);
      });
}

void JobCarrier::begin_home(const std::string& job) {
  const ProcessId home = roster_.new_process();
  homes_[job] = home;
  actors_.client_joined(home);
}

void JobCarrier::carry_out(const job::Start& command) {
  job_step("node.dies.starting");
  begin_home(command.job);
  const DeviceSet devices = leases_.jobs().started(homes_[command.job], table_.resources(command.job));
  Status launched = launch(command, devices);
  if (launched.is_ok()) {
    job_step("node.dies.started");
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

// A job may use as much memory as it holds.
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
      leases_.jobs().started(homes_[command.job], table_.resources(command.job));
      environments_.hold(command.job, folders_.in_use(command.job));
      table_.started(command.job, command.attempt, now());
  }
}

void JobCarrier::carry_out(const job::Stop& command) {
  job_step("node.dies.stopping");
  processes_.signal(command.job, SIGTERM);
}

void JobCarrier::attempt_ended(const std::string& job, std::uint32_t attempt, job::AttemptEnd end) {
  job_step("node.dies.attempt_ended");
  table_.attempt_ended(job, attempt, std::move(end), now());
}

void JobCarrier::carry_out(const job::AttemptOver& command) {
  job_step("node.dies.attempt_over");
  if (auto found = homes_.find(command.job); found != homes_.end()) {
    for (auto& [id, wait] : waits_) {
      if (wait.waiter == found->second) wait.waiter = 0;
    }
    std::erase_if(lenders_, [&](const auto& each) { return each.second == found->second; });
    leases_.jobs().ended(found->second);
    actors_.client_left(found->second);
    homes_.erase(found);
  }
  logs_.changed(command.job);
}

void JobCarrier::carry_out(const job::Ended& command) {
  job_step("node.dies.end_recorded");
  if (auto lender = lenders_.extract(command.job)) leases_.jobs().waits(lender.mapped(), false);
  environments_.forget(command.job);
  environment_of_.erase(command.job);
  folders_.keep_end(*table_.record(command.job));
  job_step("node.dies.end_kept");
  logs_.changed(command.job);
  finish_waits(command.job);
}

void JobCarrier::carry_out(const job::Remove& command) {
  records_.removed(command.job);
  job_step("node.dies.removing");
  folders_.remove(command.job);
  logs_.changed(command.job);
}

void JobCarrier::stop_all() {
  if (settings_.embedded) return;  // jobs of an embedded node end with this process
  table_.stop_all("the node was stopped", now());
  carry_out();
  processes_.end_all(kStopPatience);
  carry_out();
  records_.flush();
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
    const ProcessId tree = tree_of_(pid);
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

}  // namespace fray::node
