// WorkerProcesses: the processes that run tasks: a fork server for each worker key, and the workers forked by it.
//
// A key has a fork server from its first start() until rest(). The environment of a key with a runtime env has to be
// made before (env_state): make_env() is to be called when it is kMissing, and start() once it is kReady.
//
// A worker is gone when three things have happened: its exit was reported, its output was read to the end, and so was
// its control socket. Only then on_gone is called, with the facts of its end; so nothing of a worker arrives after its
// end.
//
// Threading:  the node's loop.
// Ownership:  owns fork servers, pidfds and worker pages. Connections of workers belong to the Roster.
// Failure:    start() returns why no process can be made. A fork server that dies takes its workers with it; the next
//             start() tries again, after a pause that grows (start_delay).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/loop.h"
#include "model/worker_page.h"
#include "node/environments/env_preparation.h"
#include "node/workers/fork_server_link.h"
#include "node/workers/log_relay.h"
#include "os/limits/process_limits.h"
#include "os/memory/memory_page.h"
#include "os/process/child_processes.h"
#include "runtime_env/env_cache.h"
#include "wire/lease.h"
#include "wire/process.h"

namespace fray::node {

struct WorkerProcess {
  WorkerKeyId key = 0;
  std::int32_t pid = 0;       // 0 until the fork server has reported it
  std::int32_t said_pid = 0;  // of its hello, which may come before that report: a task may run by then
  os::Fd pidfd;
  os::SharedPage page;
  bool greeted = false;
  bool expected = false;  // whether the worker was told to end, or has said that it will
  event::TimerId end_timer = 0;
  std::string why_killed;  // for people; empty if the node did not kill it, or if they know the reason

  std::int32_t shown_pid() const { return pid != 0 ? pid : said_pid; }  // for people
  const WorkerPage* view() const { return static_cast<const WorkerPage*>(page.data()); }
};

// How a worker has ended. An unused one had said hello, nobody meant it to end, and neither it nor a living worker of its
// key has run anything.
enum class WorkerEnd : std::uint8_t { kExpected, kUnexpected, kUnused };

// How far the runtime environment of a worker key is made.
enum class EnvState : std::uint8_t { kReady, kMissing, kMaking, kFailed };

class WorkerProcesses {
 public:
  struct Events {
    // The node's end of the socket on which the worker will say hello.
    std::function<bool(ProcessId worker, os::Fd control)> on_socket;
    std::function<void(ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts, const WorkerPage& page)> on_gone;
    // The environment of a key, which was kMaking, has become kReady or kFailed.
    std::function<void(WorkerKeyId key)> on_env;
  };

  WorkerProcesses(event::Loop& loop, os::Spawner& spawner, LogRelay& logs, Events events);
  ~WorkerProcesses();

  // Takes over the fork server of the first key that is defined. To be called before that.
  void adopt(StartedForkServer server) { started_ = std::move(server); }
  // Returns the number of a key; equal keys have equal numbers. Begins to make the environment of the key.
  WorkerKeyId define(const wire::WorkerKey& key);
  // Starts the fork server of a key that has none, ahead of the first start().
  void warm_up(WorkerKeyId key);
  // Ends the fork server of a key without workers, and releases its environment; the next start() makes both anew.
  // False if the key has workers.
  bool rest(WorkerKeyId key);
  // Forgets a key that rests.
  void forget(WorkerKeyId key);
  // The keys with a fork server or an environment; a key at rest costs nothing but its description.
  std::vector<WorkerKeyId> awake_keys() const;
  EnvState env_state(WorkerKeyId key) const;
  // The present step of making the environment, or why it cannot be made; empty otherwise.
  std::string env_text(WorkerKeyId key) const;
  void make_env(WorkerKeyId key);
  // Allows an environment that has failed to be made anew when it is needed again.
  void forgive_env(WorkerKeyId key);

  Status start(WorkerKeyId key, ProcessId worker);
  // The pause before the next start of a worker of this key.
  std::chrono::milliseconds start_delay(WorkerKeyId key) const;
  // Notes the pid that a worker has given in its hello: the report of the fork server, on another socket, may arrive
  // later. Lines that the worker prints, and its tasks, are shown with its pid.
  void said_hello(ProcessId worker, std::int32_t pid);
  void started_well(ProcessId worker);
  // Why workers of the key do not start, or do no work: the last lines of the fork server, or of a worker that died before
  // its hello or unused.
  std::string failure_reason(WorkerKeyId key) const;
  // kRuntimeEnv if the runtime environment of the key is the cause, else kWorkerDied.
  StatusCode failure_code(WorkerKeyId key) const;

  // Kills a worker. The submitter of the task that it runs is told `why`.
  void kill(ProcessId worker, bool expected, const std::string& why = {});
  // Called when a worker was told to end, or has said that it ends: it is killed if it lives a few seconds later.
  void will_end(ProcessId worker);
  void expect_end(ProcessId worker);  // it will end by itself, when it has done what it runs
  // Called when a worker of this key will host an actor: from the second on, the fork server loads for all what actors
  // need, and asyncio where their calls run in an event loop.
  void expect_actor(WorkerKeyId key, bool event_loop);
  // Called when a child process of the node was reaped.
  void child_ended(const os::Ended& ended);
  // Whether the process is a fork server, or makes the environment of one.
  bool is_fork_server(pid_t pid) const;

  const std::map<ProcessId, WorkerProcess>& workers() const { return workers_; }

 private:
  struct Key {
    wire::WorkerKey description;
    EnvState env = EnvState::kReady;
    runtime_env::PreparedEnv prepared;
    std::vector<runtime_env::EnvUse> uses;
    std::unique_ptr<EnvPreparation> preparation;
    std::string env_error;
    std::unique_ptr<ForkServerLink> server;
    std::vector<std::unique_ptr<ForkServerLink>> ended;  // kept until their callbacks have returned
    std::uint32_t failures = 0;                          // starts that have failed in a row
    std::string reason;
    bool blames_env = false;
    std::uint64_t expected_actors = 0;
    std::uint64_t expected_loops = 0;

    bool is_awake() const { return server || preparation || !uses.empty(); }
  };

  Status ensure_server(WorkerKeyId number);
  Result<os::Fd> guardian_program();
  void env_made(WorkerKeyId number, Result<runtime_env::PreparedEnv> made);
  Status use_env(Key& key, runtime_env::PreparedEnv prepared);
  void server_frame(wire::Incoming& frame);
  void server_ended(WorkerKeyId number);
  void spawned(ProcessId worker, const wire::Spawned& message, wire::Incoming& frame);
  void gone(ProcessId worker, int wait_status, std::uint64_t peak_memory_bytes);
  void failed(Key& key, std::string reason, bool blames_env);
  void failed(Key& key, const Status& why);
  bool any_has_run(WorkerKeyId key) const;  // of the living workers, which do not include actors

  event::Loop& loop_;
  os::Spawner& spawner_;
  LogRelay& logs_;
  Events events_;
  os::ProcessLimits limits_;
  std::map<WorkerKeyId, Key> keys_;
  std::map<wire::WorkerKey, WorkerKeyId> numbers_;
  WorkerKeyId last_key_ = 0;
  std::optional<StartedForkServer> started_;  // until its key needs it
  std::map<ProcessId, WorkerProcess> workers_;
  os::Fd guardian_;  // the program; open, because a fork server in a container does not see the node's files
};

}  // namespace fray::node
