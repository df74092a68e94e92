#include "job/sim/job_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace fray::job {

namespace {

constexpr double kCpus = 4;
constexpr std::uint32_t kMostSteps = 100;
constexpr int kMostIdleSteps = 20'000;

ResourceSet cpus(double amount) {
  ResourceSet resources;
  (void)resources.set("CPU", amount).is_ok();
  return resources;
}

}  // namespace

void JobWorld::list_possible(SimulationLog& log) {
  for (JobPhase phase : {JobPhase::kBuilding, JobPhase::kQueued, JobPhase::kStarting, JobPhase::kBackingOff}) {
    log.possible.emplace(to_string(phase), to_string(JobState::kPending));
  }
  // Found again after the node's end; and those that run.
  for (JobPhase phase : {JobPhase::kStarting, JobPhase::kRunning, JobPhase::kStopping}) {
    log.possible.emplace(to_string(phase), to_string(JobState::kRunning));
  }
  for (JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kStopped}) {
    log.possible.emplace(to_string(JobPhase::kEnded), to_string(state));
  }
}

JobWorld::JobWorld(std::uint64_t seed, SimulationLog& log)
    : random_(seed), log_(log), total_(cpus(kCpus)), table_(std::make_unique<JobTable>(total_)) {
  left_ = 1 + random_.below(12);
}

void JobWorld::check(bool holds, const std::string& what) const {
  if (!holds) throw SimulationViolation(what);
}

void JobWorld::run() {
  for (std::uint32_t step = 0; step < kMostSteps; ++step) {
    ++log_.steps;
    act();
    carry_out();
    check();
  }
  ending_ = true;
  for (int step = 0; !table_->living().empty(); ++step) {
    check(step < kMostIdleSteps, fmt::format("the job {} does not end: {}", table_->living().front(),
                                             table_->view(table_->living().front())->pending_reason));
    ++log_.steps;
    act();
    carry_out();
    check();
  }
  check(supervisors_.empty(), "a supervisor runs whose job has ended");
}

std::string JobWorld::draw_living() {
  const std::vector<std::string> living = table_->living();
  return living.empty() ? "" : living[random_.below(living.size())];
}

void JobWorld::act() {
  switch (random_.below(ending_ ? 4 : 10)) {
    case 0:
    case 1:
      return end_supervisor();
    case 2: {
      now_ += std::chrono::milliseconds(random_.below(3000));
      if (auto due = table_->next_due(); due && random_.percent(50)) now_ = std::max(now_, *due);
      return table_->tick(now());
    }
    case 3: {
      if (building_.empty()) return;
      const std::string job = *std::next(building_.begin(), random_.below(building_.size()));
      building_.erase(job);
      return random_.percent(15) ? table_->prepare_failed(job, "no", now()) : table_->prepared(job);
    }
    case 4:
    case 5:
      return submit("");
    case 6: {
      if (supervisors_.empty()) return;
      return submit(std::next(supervisors_.begin(), random_.below(supervisors_.size()))->first);
    }
    case 7: {
      if (random_.percent(50)) return repeat_report();
      log_.fault("stop");
      if (const std::string job = draw_living(); !job.empty()) table_->stop(job, "asked", now());
      return;
    }
    case 8:
      return kill_node();
    default: {
      const std::vector<std::string> ids = table_->ids();
      if (!ids.empty()) (void)table_->remove(ids[random_.below(ids.size())]).is_ok();
    }
  }
}

void JobWorld::submit(const std::string& parent) {
  if (left_ == 0) return;
  --left_;
  JobSpec spec;
  spec.id = fmt::format("j{}", ++submitted_);
  spec.name = spec.id;
  spec.command = {"x"};
  spec.folder = "/";
  spec.replicas = 1 + random_.below(2);
  spec.resources = cpus(random_.below(3));
  spec.max_failures = random_.below(3);
  spec.max_preemptions = random_.below(3);
  spec.priority = static_cast<std::int32_t>(random_.below(3));
  if (random_.percent(20)) spec.deadline_seconds = 1 + random_.below(5);
  if (random_.percent(20)) spec.runtime_env = "{}";
  const JobRecord* above = parent.empty() ? nullptr : table_->record(parent);
  if (!parent.empty() && above == nullptr) return;
  Status accepted = table_->accept(spec, parent, above == nullptr ? 0 : above->attempt, now());
  check(accepted.is_ok(), accepted.message());
  if (random_.percent(10)) {
    log_.fault("not kept");
    return table_->withdraw(spec.id);
  }
  kept_[spec.id] = *table_->record(spec.id);
}

AttemptEnd JobWorld::draw_end(const Supervisor& supervisor, const JobRecord& record) {
  AttemptEnd end;
  if (random_.percent(15)) {
    log_.fault("supervisor lost");
    end.kind = AttemptEnd::Kind::kLost;
    end.text = "lost";
    return end;
  }
  const bool fails = random_.percent(40);
  if (fails) log_.fault("replica fails");
  for (std::uint32_t i = 0; i < record.spec.replicas; ++i) {
    ReplicaEnd one;
    if (supervisor.asked) one = {0, 15, true, 0, ""};
    if (!supervisor.asked && fails) one.exit_code = 1 + static_cast<std::int32_t>(i);
    end.replicas.push_back(one);
  }
  return end;
}

void JobWorld::end_supervisor() {
  if (supervisors_.empty()) return;
  auto chosen = std::next(supervisors_.begin(), random_.below(supervisors_.size()));
  const std::string job = chosen->first;
  const Supervisor supervisor = chosen->second;
  supervisors_.erase(chosen);
  const JobRecord* record = table_->record(job);
  check(record != nullptr, "a supervisor runs for a job that was forgotten");
  const AttemptEnd end = draw_end(supervisor, *record);
  reports_[job] = {supervisor.attempt, end};
  table_->attempt_ended(job, supervisor.attempt, end, now());
  if (random_.percent(5)) {
    log_.fault("ended twice");
    table_->attempt_ended(job, supervisor.attempt, end, now());
  }
}

// Of an attempt that may be long over.
void JobWorld::repeat_report() {
  if (reports_.empty()) return;
  log_.fault("ended late");
  const auto& [job, report] = *std::next(reports_.begin(), random_.below(reports_.size()));
  const JobRecord* record = table_->record(job);
  if (record == nullptr || record->attempt == report.attempt) return;
  table_->attempt_ended(job, report.attempt, report.end, now());
}

// The commands that were not carried out yet are lost with it.
void JobWorld::kill_node() {
  log_.fault("node killed");
  table_ = std::make_unique<JobTable>(total_);
  building_.clear();
  now_ += std::chrono::milliseconds(random_.below(2000));
  for (auto each = supervisors_.begin(); each != supervisors_.end();) {
    if (!random_.percent(30)) {
      ++each;
      continue;
    }
    AttemptEnd end;
    end.replicas.resize(kept_.at(each->first).spec.replicas);
    if (random_.percent(50)) end.replicas.front().exit_code = 1;
    reports_[each->first] = {each->second.attempt, end};
    each = supervisors_.erase(each);
  }
  for (const auto& [id, record] : kept_) table_->restore(JobRecord::parse(record.json()).value(), now());
  table_->restored(now());
}

void JobWorld::carry_out() {
  while (true) {
    std::vector<Command> commands = table_->take_commands();
    if (commands.empty() && table_->has_queued()) {
      table_->offer(free());
      commands = table_->take_commands();
    }
    if (commands.empty()) return;
    for (const Command& command : commands) {
      if (const auto* record = std::get_if<Record>(&command)) carry_out(*record);
    }
    if (random_.percent(1) && !ending_) return kill_node();  // between the records and what follows from them
    for (const Command& command : commands) {
      if (std::holds_alternative<Record>(command)) continue;
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
  }
}

void JobWorld::carry_out(const Record& command) {
  if (const JobRecord* record = table_->record(command.job)) kept_[command.job] = *record;
}

void JobWorld::carry_out(const Prepare& command) { building_.insert(command.job); }

void JobWorld::carry_out(const Start& command) {
  const auto kept = kept_.find(command.job);
  check(kept != kept_.end(), "a job starts that was not kept");
  const JobRecord& known = kept->second;
  check(known.attempt_open && known.attempt == command.attempt, "an attempt starts that was not recorded");
  check(!supervisors_.contains(command.job), "a job starts that runs already");
  check(command.attempt > begun_[command.job], "an attempt starts twice");
  check(!known.stop_asked, "a job starts that was asked to stop");
  const std::uint32_t most = 1 + known.spec.max_failures + known.spec.max_preemptions;
  check(command.attempt <= most, "more attempts than the budgets allow");
  if (random_.percent(10)) {
    log_.fault("not started");
    begun_[command.job] = command.attempt;
    AttemptEnd end;
    end.kind = AttemptEnd::Kind::kNotStarted;
    end.text = "no";
    reports_[command.job] = {command.attempt, end};
    return table_->attempt_ended(command.job, command.attempt, end, now());
  }
  begun_[command.job] = command.attempt;
  supervisors_[command.job] = {command.attempt, false, true};
  table_->started(command.job, command.attempt, now());
}

void JobWorld::carry_out(const Find& command) {
  if (auto found = supervisors_.find(command.job); found != supervisors_.end()) {
    check(found->second.attempt == command.attempt, "another attempt runs than the one that is looked for");
    return table_->started(command.job, command.attempt, now());
  }
  if (auto report = reports_.find(command.job); report != reports_.end() && report->second.attempt == command.attempt) {
    return table_->attempt_ended(command.job, command.attempt, report->second.end, now());
  }
  check(begun_[command.job] < command.attempt, "an attempt is looked for that is long over");
  table_->not_begun(command.job, command.attempt);
}

void JobWorld::carry_out(const Stop& command) {
  if (auto found = supervisors_.find(command.job); found != supervisors_.end()) found->second.asked = true;
}

void JobWorld::carry_out(const Ended& command) {
  const JobRecord& known = kept_.at(command.job);
  check(is_final(known.state), "an end is told that was not recorded");
  check(!supervisors_.contains(command.job), "a job has ended that still runs");
  building_.erase(command.job);
}

void JobWorld::carry_out(const Remove& command) { kept_.erase(command.job); }

ResourceSet JobWorld::free() const {
  ResourceSet left = total_;
  for (const auto& [job, supervisor] : supervisors_) left.subtract(table_->resources(job));
  return left;
}

void JobWorld::check() {
  check(free().amount("CPU") >= 0, "jobs run that need more than there is");
  for (const std::string& id : table_->ids()) {
    const JobView view = *table_->view(id);
    const JobState state = view.record->state;
    log_.event(to_string(view.phase), to_string(state));
    if (auto known = ended_.find(id); known != ended_.end()) check(known->second == state, "a final state was left");
    if (is_final(state) && kept_.contains(id) && is_final(kept_.at(id).state)) ended_[id] = state;
    check(state != JobState::kPending || !view.pending_reason.empty(), "a job waits without a reason");
    const bool asked_in_vain = view.record->stop_asked && view.phase == JobPhase::kRunning;
    check(!asked_in_vain, "a job was asked to stop and nobody told it");
    const JobRecord* above = table_->record(view.record->parent);
    const bool orphan = !is_final(state) && !view.record->stop_asked && above != nullptr && is_final(above->state);
    check(!orphan, "a child lives on after its parent");
  }
}

}  // namespace fray::job
