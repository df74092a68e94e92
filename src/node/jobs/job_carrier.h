// JobCarrier: carries out what the JobTable decides: keeps the records of jobs, starts and stops their supervisors,
// takes their resources in the lease table, and tells those that wait for them. Questions about jobs come from
// JobRequests (sockets) and from the HTTP API.
//
//   Result<std::string> id = jobs.submit(spec, pid_of_the_submitter);
//   jobs.wait({*id}, [](Result<std::vector<JobInfo>> jobs) { ... });
//
// Threading:  the node's loop.
// Ownership:  owns the table, the records and the supervisors' pidfds. Everything that it was made with must outlive it.
// Failure:    submit() refuses a job that cannot be recorded, and leaves nothing of it. Later changes of a record that
//             cannot be written are tried again each second while the jobs go on; trouble() says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "event/loop.h"
#include "job/job_table.h"
#include "node/actors/actor_carrier.h"
#include "node/jobs/job_environments.h"
#include "node/jobs/job_folders.h"
#include "node/jobs/job_logs.h"
#include "node/jobs/job_processes.h"
#include "node/jobs/job_records.h"
#include "node/jobs/job_rules.h"
#include "node/sessions/roster.h"
#include "node/workers/device_names.h"
#include "node/workers/lease_carrier.h"

namespace fray::node {

class JobCarrier {
 public:
  struct Settings {
    std::string folder;        // in which each job has a folder; made when the first job comes
    std::string node_address;  // which the processes of jobs get
    bool embedded = false;     // the jobs end with the node, and no record is kept
    ResourceSet total;
    std::vector<std::string> gpus;
    JobRules rules;
  };

  // For a process that no job has started: the tree of the lease table to which it belongs, if it is a worker; else 0.
  using TreeOf = std::function<ProcessId(pid_t pid)>;

  JobCarrier(event::Loop& loop, os::Spawner& spawner, Roster& roster, LeaseCarrier& leases, ActorCarrier& actors,
             JobEnvironments& environments, TreeOf tree_of, Settings settings);
  ~JobCarrier();

  // Reads the records of former nodes and finds their jobs.
  void restore();

  // ---- Requests. `submitter` is a process: if it belongs to a job, the new job is a child of that. 0: none. Returns
  // the id.
  Result<std::string> submit(JobSpec spec, pid_t submitter);
  Result<std::string> find(std::string_view beginning) const { return table_.find(beginning); }
  // Jobs as clients are told of them; all of them where no ids are given.
  Result<std::vector<JobInfo>> infos(const std::vector<std::string>& ids) const;
  Status stop(const std::string& id, const std::string& reason = "it was stopped");
  Status remove(const std::string& id);
  // Calls back with infos() once all have ended, or at once.
  using WaitId = std::uint64_t;  // is never 0
  using OnEnded = std::function<void(Result<std::vector<JobInfo>> jobs)>;
  Result<WaitId> wait(const std::vector<std::string>& ids, pid_t waiter, OnEnded on_done);
  void cancel_wait(WaitId wait);
  JobLogs& logs() { return logs_; }

  bool carry_out();  // true when there was something to do
  // Stops all jobs, and returns when they have ended.
  void stop_all();

  // ---- Which processes belong to which job
  bool is_supervisor(pid_t pid) const { return !processes_.job_of(pid).empty(); }
  // The home (scheduler/job_shares.h) of the job that this process belongs to; 0: none.
  ProcessId home_of_process(pid_t pid) const;
  // The job of a home; empty: that job has ended.
  std::string job_of_home(ProcessId home) const;
  // The home of the topmost running job above the job of this home.
  ProcessId top_home(ProcessId home) const;

  const job::JobTable& table() const { return table_; }
  pid_t supervisor_of(const std::string& job) const { return processes_.pid(job); }
  // What is wrong with the records, for `fray status`; empty when nothing is.
  const std::string& trouble() const { return records_.trouble(); }
  const std::string& rebuilt() const { return records_.rebuilt(); }

 private:
  struct Wait {
    std::vector<std::string> ids;
    std::set<std::string> left;
    ProcessId waiter = 0;  // the home of the job that waits
    OnEnded on_done;
  };

  void prune();
  void prune_later();
  void carry_out(const job::Record&) {}
  void carry_out(const job::Prepare& command);
  void carry_out(const job::Start& command);
  void carry_out(const job::Find& command);
  void carry_out(const job::Stop& command);
  void carry_out(const job::AttemptOver& command);
  void carry_out(const job::Ended& command);
  void carry_out(const job::Remove& command);
  void begin_home(const std::string& job);
  os::LimitRequest limits_of(const JobSpec& spec) const;
  Result<supervisor::Order> order_for(const job::Start& command, const DeviceSet& devices);
  Status launch(const job::Start& command, const DeviceSet& devices);
  void attempt_ended(const std::string& job, std::uint32_t attempt, job::AttemptEnd end);
  void finish_waits(const std::string& job);
  void watch_clock();
  static job::Now now();
  static std::string unique_name();

  event::Loop& loop_;
  Roster& roster_;
  LeaseCarrier& leases_;
  ActorCarrier& actors_;
  JobEnvironments& environments_;
  const TreeOf tree_of_;
  const Settings settings_;
  const DeviceNames device_names_;
  JobFolders folders_;
  job::JobTable table_;
  JobRecords records_;
  JobProcesses processes_;
  JobLogs logs_;
  std::map<std::string, JobEnvironments::Apply> environment_of_;
  std::map<std::string, ProcessId> homes_;    // of jobs that run
  std::map<std::string, ProcessId> lenders_;  // by child: the home that lends its resources while the child lives
  std::map<WaitId, Wait> waits_;
  WaitId last_wait_ = 0;
  event::TimerId clock_timer_ = 0;
  job::Moment clock_due_{0};
  event::TimerId prune_timer_ = 0;
};

}  // namespace fray::node
