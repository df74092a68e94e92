// How a job's attempts go, from the first start to the final state.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "job/job_table.h"

namespace fray::job {

namespace {

std::string describe(const ReplicaEnd& end, std::size_t number, std::size_t replicas) {
  const std::string who = replicas == 1 ? "" : fmt::format("replica {} of {} ", number, replicas);
  const std::string how = end.signal != 0
                              ? fmt::format("was killed by signal {} ({})", end.signal, ::strsignal(end.signal))
                              : fmt::format("exited with code {}", end.exit_code);
  if (end.text.empty()) return who.empty() ? "it " + how : who + how;
  return fmt::format("{}{}{} (it {})", who, who.empty() ? "" : "failed: ", end.text, how);
}

// The replica that decides the status: the first that failed by itself, else the first that failed for any reason.
std::optional<std::size_t> culprit(const std::vector<ReplicaEnd>& replicas) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (replicas[i].succeeded()) continue;
    if (!replicas[i].asked) return i;
    if (!found) found = i;
  }
  return found;
}

}  // namespace

JobTable::Job* JobTable::living(const std::string& id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || is_final(found->second.record.state)) return nullptr;
  return &found->second;
}

JobTable::Job* JobTable::in_attempt(const std::string& id, std::uint32_t attempt) {
  Job* job = living(id);
  const bool present = job != nullptr && job->record.attempt_open && job->record.attempt == attempt;
  if (present) return job;
  contradict();
  return nullptr;
}

void JobTable::set_deadline(Job& job, Now now) {
  if (job.record.spec.deadline_seconds <= 0) return;
  const auto whole =
      std::chrono::duration_cast<Moment>(std::chrono::duration<double>(job.record.spec.deadline_seconds));
  const Moment gone(std::max<std::int64_t>(0, now.unix_ns - job.record.started_unix_ns));
  job.deadline = now.steady + whole - std::min(whole, gone);
  deadlines_.emplace(*job.deadline, job.record.spec.id);
}

void JobTable::started(const std::string& id, std::uint32_t attempt, Now now) {
  Job* job = in_attempt(id, attempt);
  if (job == nullptr) return;
  if (job->phase != JobPhase::kStarting) return contradict();
  job->record.state = JobState::kRunning;
  job->phase = JobPhase::kRunning;
  job->attempt_began = now.steady;
  if (job->record.started_unix_ns == 0) {
    job->record.started_unix_ns = now.unix_ns;
    set_deadline(*job, now);
  }
  note(*job);
  if (!job->record.stop_asked) return;
  job->phase = JobPhase::kStopping;
  commands_.emplace_back(Stop{id, attempt});
}

void JobTable::not_begun(const std::string& id, std::uint32_t attempt) {
  Job* job = in_attempt(id, attempt);
  if (job == nullptr) return;
  if (job->phase != JobPhase::kStarting) return contradict();
  job->record.attempt_open = false;
  --job->record.attempt;
  if (job->record.stop_asked) {
    return end(*job, JobState::kStopped, job->record.message, {last_tick_, job->record.accepted_unix_ns});
  }
  note(*job);
  enter(*job);
}

void JobTable::attempt_ended(const std::string& id, std::uint32_t attempt, AttemptEnd end, Now now) {
  Job* job = in_attempt(id, attempt);
  if (job == nullptr) return;
  if (end.kind == AttemptEnd::Kind::kExited) job->record.replicas = end.replicas;
  job->record.attempt_open = false;
  judge(*job, end, now);
  commands_.emplace_back(AttemptOver{id, attempt});
  stop_children(id, attempt, now);
}

void JobTable::judge(Job& job, const AttemptEnd& end, Now now) {
  const bool exited = end.kind == AttemptEnd::Kind::kExited;
  const std::optional<std::size_t> guilty = exited ? culprit(end.replicas) : std::nullopt;
  if (exited) job.record.exit_code = guilty ? end.replicas[*guilty].code() : 0;
  if (exited && !guilty) return this->end(job, JobState::kSucceeded, "", now);
  if (job.record.stop_asked) {
    return this->end(job, job.record.too_late ? JobState::kFailed : JobState::kStopped, job.record.message, now);
  }
  const std::string why = exited ? describe(end.replicas[*guilty], *guilty, end.replicas.size()) : end.text;
  const Moment ran_for = job.phase == JobPhase::kStarting ? Moment(0) : now.steady - job.attempt_began;
  const std::optional<Moment> delay = exited ? job.policy.failed(ran_for) : job.policy.preempted(ran_for);
  job.record.failures = job.policy.failures();
  job.record.preemptions = job.policy.preemptions();
  if (!delay) return this->end(job, JobState::kFailed, why, now);
  const std::string number =
      exited ? fmt::format("failure {} of {} that it may have", job.record.failures, job.record.spec.max_failures)
             : fmt::format("preemption {} of {} that it may have", job.record.preemptions,
                           job.record.spec.max_preemptions);
  retry(job, *delay, fmt::format("{}: {}", number, why), now);
}

void JobTable::retry(Job& job, Moment delay, std::string after, Now now) {
  job.record.state = JobState::kPending;
  job.after = std::move(after);
  job.phase = JobPhase::kBackingOff;
  job.due = now.steady + delay;
  due_.emplace(job.due, job.record.spec.id);
  note(job);
}

void JobTable::leave_wait(Job& job) {
  if (job.phase == JobPhase::kQueued) queue_.erase(place(job));
  if (job.phase == JobPhase::kBackingOff) due_.erase({job.due, job.record.spec.id});
}

void JobTable::end(Job& job, JobState state, std::string message, Now now) {
  const std::string id = job.record.spec.id;
  leave_wait(job);
  if (job.deadline) deadlines_.erase({*job.deadline, id});
  job.phase = JobPhase::kEnded;
  job.record.state = state;
  job.record.message = std::move(message);
  job.record.attempt_open = false;
  job.record.ended_unix_ns = now.unix_ns;
  living_.erase(id);
  note(job);
  commands_.emplace_back(Ended{id});
}

void JobTable::stop_children(const std::string& id, std::uint32_t attempt, Now now) {
  for (const std::string& each : living()) {
    const JobRecord& child = jobs_.find(each)->second.record;
    if (child.parent != id || child.parent_attempt != attempt) continue;
    stop(each, fmt::format("its parent job {} has ended", id), now);
  }
}

void JobTable::tick(Now now) {
  last_tick_ = now.steady;
  while (!due_.empty() && due_.begin()->first <= now.steady) {
    Job& job = jobs_.find(due_.begin()->second)->second;
    due_.erase(due_.begin());
    enter(job);  // this node did not make the environment of an adopted job
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now.steady) {
    Job& job = jobs_.find(deadlines_.begin()->second)->second;
    deadlines_.erase(deadlines_.begin());
    job.deadline.reset();
    const std::string reason = fmt::format("its deadline of {:g} s has passed", job.record.spec.deadline_seconds);
    if (!job.record.attempt_open) {
      end(job, JobState::kFailed, reason, now);
    } else if (!job.record.stop_asked) {
      job.record.too_late = true;
      stop(job.record.spec.id, reason, now);
    }
  }
}

std::optional<Moment> JobTable::next_due() const {
  std::optional<Moment> next;
  for (const auto* moments : {&due_, &deadlines_}) {
    if (!moments->empty() && (!next || moments->begin()->first < *next)) next = moments->begin()->first;
  }
  return next;
}

}  // namespace fray::job
