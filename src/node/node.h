// Node: the one process of a session that decides: it connects the decision modules to processes, sockets and shared
// memory.
//
// Threading:  one loop, the Spiller's thread for copying, and the QueueKeeper's for writing queues down.
// Ownership:  owns every part, in the order of the members: each may use those before it.
// Failure:    create() returns why the node cannot start. After that nothing that a peer does ends it: a peer that breaks
//             the rules is disconnected. An embedded node ends when its last driver is gone, however it died.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "event/loop.h"
#include "node/actors/actor_carrier.h"
#include "node/actors/wait_carrier.h"
#include "node/clusters/clusters.h"
#include "node/dashboard/dashboard.h"
#include "node/environments/cached_environments.h"
#include "node/jobs/job_carrier.h"
#include "node/jobs/job_requests.h"
#include "node/node_view.h"
#include "node/objects/memory_carrier.h"
#include "node/objects/object_carrier.h"
#include "node/own_programs.h"
#include "node/queues/queue_carrier.h"
#include "node/sessions/roster.h"
#include "node/sessions/session_folder.h"
#include "node/sessions/session_options.h"
#include "node/workers/lease_carrier.h"
#include "node/workers/log_relay.h"
#include "node/workers/reservation_keeper.h"
#include "node/workers/worker_processes.h"
#include "node/workers/worker_watch.h"
#include "os/process/spawn.h"

namespace fray::node {

class Node : public NodeView {
 public:
  struct Settings {
    SessionOptions options;
    std::string release;
    bool embedded = false;
    JobRules job_rules = {};
    os::Spawner* spawner = &os::spawner();  // which starts the fork servers
  };

  static Result<std::unique_ptr<Node>> create(event::Loop& loop, Settings settings);
  Node(event::Loop& loop, Settings settings, SessionFolder folder);
  ~Node() override;

  // Takes the socket of the first client, with which an embedded node ends.
  Status adopt(os::Fd socket);
  // Takes over the fork server of the first client's workers. To be called before adopt().
  void adopt_fork_server(StartedForkServer server) { processes_.adopt(std::move(server)); }
  // Children have ended (SIGCHLD).
  void reap_children();
  const std::string& session_folder() const { return folder_.path(); }
  std::string socket_path() const { return folder_.socket_path(); }

  // NodeView.
  std::string status() override { return report(); }
  Result<JobInfo> submit_job(JobSpec spec) override { return job_requests_.submit(std::move(spec), 0); }
  Result<Infos> get_jobs(const Ids& ids) override { return jobs_.infos(ids); }
  Result<Infos> stop_jobs(const Ids& ids) override { return job_requests_.stop(ids); }
  Result<Infos> remove_jobs(const Ids& ids) override { return job_requests_.remove(ids); }
  wire::JobLogOpened open_job_log(const wire::OpenJobLog& request) override { return jobs_.logs().open(request); }
  ReaderId read_job_log(wire::ReadJobLog request, OnPieces on_pieces) override {
    return jobs_.logs().read(std::move(request), std::move(on_pieces));
  }
  void cancel_read(ReaderId reader) override { jobs_.logs().cancel(reader); }
  queue::AskId ask_queue(queue::Request request, OnQueueAnswer on_answer) override {
    return queues_.ask(std::move(request), std::move(on_answer));
  }
  void withdraw_from_queue(queue::AskId ask) override { queues_.withdraw(ask); }
  DashboardView& dashboard() override { return dashboard_; }
  Clusters& clusters() override { return clusters_; }

  // Ends the jobs of the home's started node, those of its former nodes included.
  void stop_all_jobs();
  // Kills and reaps everything below this process.
  static Status kill_everything();

 private:
  Status frame_arrived(Connection& connection, wire::Incoming& frame);
  Status handle_hello(Connection& connection, std::string_view body);
  void welcome(Connection& connection, ProcessId process);
  Status welcome_worker(Connection& connection, const wire::Hello& hello);
  Status handle_client(Connection& connection, wire::ControlType type, wire::Incoming& frame);
  Status handle_lease(ProcessId process, wire::ControlType type, const wire::Incoming& frame);
  Status handle_object(ProcessId process, wire::ControlType type, const wire::Incoming& frame);
  Status handle_worker(Connection& connection, wire::ControlType type);
  Status handle_wait(Connection& connection, wire::ControlType type, const wire::Incoming& frame);
  void job_process_waits(Connection& connection, bool waits);
  Status handle_memory(Connection& connection, wire::ControlType type, wire::Incoming& frame);
  void connection_ended(Connection& connection, const Status& why);
  void process_left(Connection& connection, const Status& why);
  void worker_gone(ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts, const WorkerPage& page);
  Status handle_actor(Connection& connection, wire::ControlType type, wire::Incoming& frame);
  std::vector<Connection*> log_audience(ProcessId worker) const;
  void end_round(bool complete);
  void carry_out();
  std::string report();
  StatusSources status_sources() const;
  bool is_ours(pid_t child) const;
  JobCarrier::Settings job_settings() const;
  bool lasts() const;
  std::string lasting_folder() const;
  ProcessId root_of_driver(ProcessId driver) const;
  ProcessId tree_of_worker(pid_t pid) const;
  std::size_t drivers_outside_jobs() const;

  os::Fd last_;  // of an embedded node's last client, which waits for its end; first, so that all else is gone by then
  event::Loop& loop_;
  const Settings settings_;
  const std::uint64_t started_ns_;
  const std::uint32_t epoch_;
  SessionFolder folder_;
  Roster roster_;
  LogRelay logs_;
  WorkerProcesses processes_;
  LeaseCarrier leases_;
  ReservationKeeper reservations_{roster_, leases_};
  MemoryCarrier memory_;
  ObjectCarrier objects_;
  ActorCarrier actors_;
  WaitCarrier waits_;
  CachedEnvironments environments_;  // of jobs
  JobCarrier jobs_;
  JobRequests job_requests_{jobs_};
  WorkerWatch watch_;
  QueueCarrier queues_;
  OwnPrograms programs_;
  Clusters clusters_{loop_, programs_};
  Dashboard dashboard_;
  Connection* first_ = nullptr;  // that of the first client, until it ends
};

}  // namespace fray::node
