// Requests, the queue and views. How attempts go is in job_attempts.cc.
#include "job/job_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"

namespace fray::job {

namespace {

ResourceSet times(const ResourceSet& each, std::uint32_t count) {
  ResourceSet whole;
  for (const auto& [name, units] : each.units()) whole.set_units(name, units * count);
  return whole;
}

// The amounts in `set` of the resources that are asked for, in the units of `beside`.
std::string amounts(const ResourceSet& set, const ResourceSet& asked, const ResourceSet& beside) {
  std::string text;
  for (const auto& [name, units] : asked.units()) {
    if (!text.empty()) text += ", ";
    text += name + " " + amount_text(name, set.amount(name), beside.amount(name));
  }
  return text;
}

}  // namespace

// ---- Requests ----

Status JobTable::check(const JobSpec& spec) const {
  FRAY_RETURN_IF_ERROR(spec.check());
  if (jobs_.contains(spec.id)) {
    return Status(StatusCode::kAlreadyExists, fmt::format("there is a job with the id {} already", spec.id));
  }
  const ResourceSet needed = times(spec.resources, spec.replicas);
  if (total_.covers(needed)) return Status::ok();
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("the job {} can never start here: its {} {}, the node has {}; ask for less, or start the "
                  "node with more",
                  spec.name, spec.replicas == 1 ? "replica needs" : fmt::format("{} replicas need", spec.replicas),
                  amounts(needed, needed, total_), amounts(total_, needed, needed)));
}

Status JobTable::accept(JobSpec spec, std::string parent, std::uint32_t parent_attempt, Now now) {
  FRAY_RETURN_IF_ERROR(check(spec));
  JobRecord record;
  record.spec = std::move(spec);
  record.sequence = ++sequence_;
  record.parent = std::move(parent);
  record.parent_attempt = parent_attempt;
  record.accepted_unix_ns = now.unix_ns;
  const std::string id = record.spec.id;
  Job& job = jobs_.emplace(id, Job(std::move(record))).first->second;
  living_.insert(id);
  note(job);
  enter(job);
  // The parent may have ended while the request was on its way.
  if (!job.record.parent.empty()) {
    const JobRecord* above = this->record(job.record.parent);
    if (above == nullptr || !above->attempt_open || above->attempt != parent_attempt) {
      stop(id, fmt::format("its parent job {} has ended", job.record.parent), now);
    }
  }
  return Status::ok();
}

void JobTable::withdraw(const std::string& id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return contradict();
  leave_wait(found->second);
  living_.erase(id);
  jobs_.erase(found);
  std::erase_if(commands_, [&](const Command& command) {
    return std::visit([&](const auto& known) { return known.job == id; }, command);
  });
}

void JobTable::enter(Job& job) {
  if (job.record.spec.runtime_env.empty() || job.is_prepared) return enqueue(job);
  job.record.state = JobState::kPending;
  job.phase = JobPhase::kBuilding;
  commands_.emplace_back(Prepare{job.record.spec.id});
}

JobTable::Place JobTable::place(const Job& job) {
  return {-static_cast<std::int64_t>(job.record.spec.priority), job.record.sequence, job.record.spec.id};
}

void JobTable::enqueue(Job& job) {
  job.phase = JobPhase::kQueued;
  job.record.state = JobState::kPending;
  queue_.insert(place(job));
}

void JobTable::restore(JobRecord record, Now now) {
  sequence_ = std::max(sequence_, record.sequence);
  const std::string id = record.spec.id;
  auto [found, is_new] = jobs_.emplace(id, Job(std::move(record)));
  if (!is_new) return contradict();
  Job& job = found->second;
  job.policy.restore(job.record.failures, job.record.preemptions);
  if (is_final(job.record.state)) {
    job.phase = JobPhase::kEnded;
    return;
  }
  living_.insert(id);
  if (job.record.started_unix_ns != 0) set_deadline(job, now);
  if (!job.record.attempt_open) return enter(job);
  job.phase = JobPhase::kStarting;
  commands_.emplace_back(Find{id, job.record.attempt});
}

// Stops children whose parent ended while there was no node.
void JobTable::restored(Now now) {
  for (const std::string& id : living()) {
    const JobRecord& mine = jobs_.find(id)->second.record;
    if (mine.parent.empty()) continue;
    const JobRecord* above = record(mine.parent);
    if (above != nullptr && above->attempt_open && above->attempt == mine.parent_attempt) continue;
    stop(id, fmt::format("its parent job {} has ended", mine.parent), now);
  }
}

void JobTable::preparing(const std::string& id, std::string progress) {
  Job* job = living(id);
  if (job != nullptr && job->phase == JobPhase::kBuilding) job->progress = std::move(progress);
}

void JobTable::prepared(const std::string& id) {
  Job* job = living(id);
  if (job == nullptr) return;  // the job was stopped meanwhile
  if (job->phase != JobPhase::kBuilding) return contradict();
  job->is_prepared = true;
  enqueue(*job);
}

void JobTable::prepare_failed(const std::string& id, std::string why, Now now) {
  Job* job = living(id);
  if (job == nullptr) return;
  if (job->phase != JobPhase::kBuilding) return contradict();
  end(*job, JobState::kFailed, "its environment cannot be built: " + why, now);
}

void JobTable::stop(const std::string& id, std::string reason, Now now) {
  Job* job = living(id);
  if (job == nullptr || job->record.stop_asked) return;
  job->record.stop_asked = true;
  job->record.message = std::move(reason);
  if (!job->record.attempt_open) return end(*job, JobState::kStopped, job->record.message, now);
  note(*job);
  if (job->phase != JobPhase::kRunning) return;  // the stop request is sent as soon as the job has started
  job->phase = JobPhase::kStopping;
  commands_.emplace_back(Stop{id, job->record.attempt});
}

void JobTable::stop_all(const std::string& reason, Now now) {
  for (const std::string& id : living()) stop(id, reason, now);
}

Status JobTable::remove(const std::string& id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return Status(StatusCode::kNotFound, fmt::format("there is no job {}", id));
  if (!is_final(found->second.record.state)) {
    return Status(StatusCode::kInvalidArgument, fmt::format("the job {} has not ended; stop it first", id));
  }
  jobs_.erase(found);
  commands_.emplace_back(Remove{id});
  return Status::ok();
}

void JobTable::prune(const Retention& retention, const std::set<std::string>& needed, Now now) {
  std::vector<std::pair<std::int64_t, std::string>> ended;
  for (const auto& [id, job] : jobs_) {
    if (is_final(job.record.state)) ended.emplace_back(job.record.ended_unix_ns, id);
  }
  std::sort(ended.begin(), ended.end());
  std::size_t left = ended.size();
  for (const auto& [end, id] : ended) {
    const std::chrono::nanoseconds ago(now.unix_ns - end);
    if (ago < retention.age && (left <= retention.jobs || ago < retention.at_least)) return;
    if (!needed.contains(id) && remove(id).is_ok()) --left;
  }
}

// ---- The queue ----

void JobTable::offer(const ResourceSet& free) {
  offered_ = free;
  ResourceSet left = free;
  const std::set<Place> waiting = queue_;
  for (const Place& where : waiting) {
    Job& job = jobs_.find(std::get<2>(where))->second;
    const ResourceSet needed = times(job.record.spec.resources, job.record.spec.replicas);
    if (!total_.covers(needed)) continue;  // an earlier node had more resources
    const bool fits = left.covers(needed);
    left.subtract(needed);  // reserved for this job where it does not fit now
    if (!fits) continue;
    queue_.erase(where);
    job.phase = JobPhase::kStarting;
    job.record.attempt_open = true;
    ++job.record.attempt;
    note(job);
    commands_.emplace_back(Start{job.record.spec.id, job.record.attempt});
  }
}

std::vector<Command> JobTable::take_commands() { return std::exchange(commands_, {}); }

// ---- Views ----

Result<std::string> JobTable::find(std::string_view beginning) const {
  auto found = jobs_.lower_bound(beginning);
  if (beginning.empty() || found == jobs_.end() || !found->first.starts_with(beginning)) {
    return Status(StatusCode::kNotFound, fmt::format("there is no job {}; `fray job list` shows those that are there",
                                                     beginning.empty() ? "''" : beginning));
  }
  if (found->first == beginning) return found->first;
  auto second = std::next(found);
  if (second == jobs_.end() || !second->first.starts_with(beginning)) return found->first;
  return Status(StatusCode::kNotFound, fmt::format("more than one job begins with {}: {}, {}, …; write more of the id",
                                                   beginning, found->first, second->first));
}

std::optional<JobInfo> JobTable::info(const std::string& job) const {
  const std::optional<JobView> now = view(job);
  if (!now) return std::nullopt;
  const JobRecord& record = *now->record;
  JobInfo info;
  info.spec = record.spec;
  info.state = record.state;
  info.phase = now->phase;
  info.pending_reason = now->pending_reason;
  info.message = record.message;
  info.exit_code = record.exit_code;
  // The ends of the last attempt, once no further attempt follows.
  if (is_final(record.state) && !record.attempt_open && record.replicas.size() == record.spec.replicas) {
    info.replicas = record.replicas;
  }
  info.attempt = record.attempt;
  info.failures = record.failures;
  info.preemptions = record.preemptions;
  info.parent = record.parent;
  info.submitted_unix_ns = record.accepted_unix_ns;
  info.started_unix_ns = record.started_unix_ns;
  info.ended_unix_ns = record.ended_unix_ns;
  return info;
}

const JobRecord* JobTable::record(const std::string& id) const {
  auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second.record;
}

std::optional<JobView> JobTable::view(const std::string& id) const {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return std::nullopt;
  const Job& job = found->second;
  WaitReason why = pending_reason(job);
  JobView view{&job.record, job.phase, std::move(why.text), std::move(why.way_on), std::nullopt};
  if (job.phase == JobPhase::kBackingOff) view.due = job.due;
  return view;
}

std::vector<std::string> JobTable::ids() const {
  std::vector<std::pair<std::uint64_t, std::string>> ordered;
  for (const auto& [id, job] : jobs_) ordered.emplace_back(job.record.sequence, id);
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::string> ids;
  for (auto& [sequence, id] : ordered) ids.push_back(std::move(id));
  return ids;
}

ResourceSet JobTable::resources(const std::string& id) const {
  const JobRecord* kept = record(id);
  return kept == nullptr ? ResourceSet() : times(kept->spec.resources, kept->spec.replicas);
}

WaitReason JobTable::pending_reason(const Job& job) const {
  switch (job.phase) {
    case JobPhase::kBuilding:
      return {job.progress.empty() ? "builds its environment" : "builds its environment: " + job.progress,
              "It starts when its environment is made."};
    case JobPhase::kQueued:
      return queue_reason(job);
    case JobPhase::kStarting:
      return {"starts", "It runs as soon as its process is there."};
    case JobPhase::kBackingOff: {
      const double left = std::chrono::duration<double>(job.due - std::min(job.due, last_tick_)).count();
      return {fmt::format("waits about {:.1f} s after {}", left, job.after),
              "It is tried again by itself; its log says why the last attempt failed."};
    }
    default:
      return {};
  }
}

WaitReason JobTable::queue_reason(const Job& job) const {
  const ResourceSet needed = times(job.record.spec.resources, job.record.spec.replicas);
  if (!total_.covers(needed)) {
    return {fmt::format("waits for {}: the node has {} in all", amounts(needed, needed, total_),
                        amounts(total_, needed, needed)),
            "It can never start here: stop it and ask for less, or start a node with more."};
  }
  if (!offered_.covers(needed)) {
    return {fmt::format("waits for {}: the node has {}, of which {} is free", amounts(needed, needed, total_),
                        amounts(total_, needed, needed), amounts(offered_, needed, needed)),
            "It starts when jobs and tasks that run give back enough; stopping one would help."};
  }
  const Place mine = place(job);
  for (const Place& where : queue_) {
    if (where < mine) {
      return {fmt::format("waits behind the job {}, which needs what is free", std::get<2>(where)),
              "It starts after that job; a higher priority would put it in front."};
    }
  }
  return {"is about to start", "Nothing needs to be done."};
}

}  // namespace fray::job
