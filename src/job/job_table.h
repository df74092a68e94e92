// JobTable: decides when jobs start, start again, stop and end.
//
//   table.accept({.id = "a-1", .name = "a", .command = {"true"}, ...}, "", 0, now);   // Record{a-1}
//   table.offer(free);                                                                // Record, Start{a-1, 1}
//   table.started("a-1", 1, now);                                                     // Record
//   table.attempt_ended("a-1", 1, {.replicas = {{}}}, now);                           // Record, AttemptOver, Ended
//
//            accept              prepared            offer               started
//   (none) ──────────▶ building ──────────▶ queued ─────────▶ starting ───────────▶ running ──▶ stopping
//                         │  (skipped without   ▲                 │                    │           │
//                         │   environment)      │ due             │                    │           │
//                         │                     └── backing off ◀─┴── attempts left ───┤           │
//                         │ cannot be built                                            ▼           ▼
//                         └───────────────────────────────────────────────────────▶ ended ◀───────┘
//
// A job that was asked to stop before it started ends at once. A job in a final state never leaves it.
//
// Rules (docs/decisions/0006). Jobs start in the order of priority and acceptance, all replicas or none; the first that
// does not fit keeps what it needs from those behind it. The first replica that fails decides over the attempt.
// Failures and preemptions have a budget each (job/retry_policy.h). Children of an attempt are stopped when it ends. A
// deadline counts from the first start.
//
// Every change gives a Record command, which comes before the commands that carry out the change: a node that dies in
// between finds in its records what it was about to do.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  values only.
// Failure:    a request that cannot be is answered with a Status. Events that contradict the state (of an attempt that is
//             not the present one, of an unknown job) are ignored and counted in contradictions().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "job/job_commands.h"
#include "job/job_record.h"
#include "job/retention.h"
#include "job/retry_policy.h"
#include "model/job_spec.h"
#include "model/resource_set.h"
#include "model/wait_reason.h"

namespace fray::job {

struct Now {
  Moment steady{0};
  std::int64_t unix_ns = 0;  // for people, and for what outlives the steady clock
};

// One job, for lists, waits and tests.
struct JobView {
  const JobRecord* record = nullptr;
  JobPhase phase = JobPhase::kQueued;
  std::string pending_reason;  // while the state is pending: what it waits for
  std::string way_on;          // then: how it goes on
  std::optional<Moment> due;   // while backing off
};

class JobTable {
 public:
  // What the node has in all.
  explicit JobTable(ResourceSet total) : total_(std::move(total)) {}

  // Whether accept() would take it: the id is free, the resources exist. `spec.id` is set.
  Status check(const JobSpec& spec) const;
  // `parent`: the job, and its attempt, from inside which it was launched; empty: none.
  Status accept(JobSpec spec, std::string parent, std::uint32_t parent_attempt, Now now);
  // It could not be kept: as if it had never been.
  void withdraw(const std::string& job);
  // A job of a node before this one. All of them come before any other event, then restored().
  void restore(JobRecord record, Now now);
  void restored(Now now);

  void preparing(const std::string& job, std::string progress);
  void prepared(const std::string& job);
  void prepare_failed(const std::string& job, std::string why, Now now);
  void started(const std::string& job, std::uint32_t attempt, Now now);
  // A found attempt never began: it is to start after all.
  void not_begun(const std::string& job, std::uint32_t attempt);
  void attempt_ended(const std::string& job, std::uint32_t attempt, AttemptEnd end, Now now);

  void stop(const std::string& job, std::string reason, Now now);
  void stop_all(const std::string& reason, Now now);
  // kInvalidArgument while it has not ended.
  Status remove(const std::string& job);
  // Removes jobs that have ended and need not be remembered any more, but those that somebody still `needs`.
  void prune(const Retention& retention, const std::set<std::string>& needed, Now now);

  // What jobs may take now. Starts those that fit.
  void offer(const ResourceSet& free);
  bool has_queued() const { return !queue_.empty(); }
  // What is due is done: attempts after a pause, deadlines. The node calls it at next_due(), if there is one.
  void tick(Now now);
  std::optional<Moment> next_due() const;

  std::vector<Command> take_commands();

  // Views. The id in full, of a name that may be the beginning of one.
  Result<std::string> find(std::string_view beginning) const;
  std::optional<JobView> view(const std::string& job) const;
  // What clients are told.
  std::optional<JobInfo> info(const std::string& job) const;
  const JobRecord* record(const std::string& job) const;
  std::vector<std::string> ids() const;  // in the order of acceptance
  std::vector<std::string> living() const { return {living_.begin(), living_.end()}; }
  ResourceSet resources(const std::string& job) const;  // of all its replicas
  std::size_t size() const { return jobs_.size(); }
  std::uint64_t contradictions() const { return contradictions_; }

 private:
  struct Job {
    explicit Job(JobRecord kept)
        : record(std::move(kept)), policy(record.spec.max_failures, record.spec.max_preemptions) {}

    JobRecord record;
    RetryPolicy policy;
    JobPhase phase = JobPhase::kQueued;
    bool is_prepared = false;  // its environment is there, as far as this node has made it
    std::string progress;      // while building
    std::string after;         // while backing off: what it comes after
    Moment due{0};             // while backing off
    std::optional<Moment> deadline;
    Moment attempt_began{0};
  };
  using Place = std::tuple<std::int64_t, std::uint64_t, std::string>;  // first of the queue first

  void contradict() { ++contradictions_; }
  Job* living(const std::string& job);
  // Living, and this is its open attempt; nullptr (and counted) otherwise.
  Job* in_attempt(const std::string& job, std::uint32_t attempt);
  static Place place(const Job& job);
  void enter(Job& job);
  void enqueue(Job& job);
  void leave_wait(Job& job);
  void set_deadline(Job& job, Now now);
  void note(const Job& job) { commands_.emplace_back(Record{job.record.spec.id}); }
  void end(Job& job, JobState state, std::string message, Now now);
  void retry(Job& job, Moment delay, std::string after, Now now);
  void judge(Job& job, const AttemptEnd& end, Now now);
  void stop_children(const std::string& job, std::uint32_t attempt, Now now);
  WaitReason pending_reason(const Job& job) const;
  WaitReason queue_reason(const Job& job) const;

  const ResourceSet total_;
  ResourceSet offered_;  // last
  std::map<std::string, Job, std::less<>> jobs_;
  std::set<std::string> living_;
  std::set<Place> queue_;
  std::set<std::pair<Moment, std::string>> due_;  // pauses
  std::set<std::pair<Moment, std::string>> deadlines_;
  std::vector<Command> commands_;
  Moment last_tick_{0};
  std::uint64_t sequence_ = 0;
  std::uint64_t contradictions_ = 0;
};

}  // namespace fray::job
