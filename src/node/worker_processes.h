// WorkerProcesses: the processes that run tasks: a fork server for each worker key, and the workers forked by it.
//
// A worker is gone when three things have happened: its exit was reported, its output was read to the end, and what it had
// said on its control socket was heard. Only then on_gone is called, with the facts of its end.
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
#include <string>
#include <unordered_map>
#include <vector>

#include "event/loop.h"
#include "model/worker_page.h"
#include "node/fork_server_link.h"
#include "node/log_relay.h"
#include "os/child_processes.h"
#include "os/memory_page.h"
#include "os/process_limits.h"

namespace fray::node {

struct WorkerProcess {
  WorkerKeyId key = 0;
  std::int32_t pid = 0;  // 0: not forked yet
  os::Fd pidfd;
  os::SharedPage page;
  bool greeted = false;
  bool expected = false;  // it was told to end, or said that it will
  event::TimerId end_timer = 0;

  const WorkerPage* view() const { return static_cast<const WorkerPage*>(page.data()); }
};

class WorkerProcesses {
 public:
  struct Events {
    // The worker's end of the node: the socket it will say hello on.
    std::function<bool(ProcessId worker, os::Fd control)> on_socket;
    std::function<void(ProcessId worker, bool expected, const wire::ExitFacts& facts, const WorkerPage& page)> on_gone;
  };

  WorkerProcesses(event::Loop& loop, os::Spawner& spawner, LogRelay& logs, Events events);
  ~WorkerProcesses();

  // Equal keys get equal numbers. The fork server is started at once.
  WorkerKeyId define(const wire::WorkerKey& key);
  // Ends the fork server of a key that has no workers, and forgets it. False while it has some.
  bool forget(WorkerKeyId key);
  std::vector<WorkerKeyId> keys() const;
  Status start(WorkerKeyId key, ProcessId worker);
  // How long to wait before the next start of this key.
  std::chrono::milliseconds start_delay(WorkerKeyId key) const;
  void started_well(ProcessId worker);  // it said hello
  // Why its workers do not start: the last lines of its fork server or of a worker that died before it said hello.
  std::string failure_reason(WorkerKeyId key) const;

  void kill(ProcessId worker, bool expected);
  // It was told to end, or said so; it is killed if it has not within a few seconds.
  void will_end(ProcessId worker);
  void expect_end(ProcessId worker);  // it will end by itself, when it has done what it runs
  // A child of the node has been reaped.
  void child_ended(const os::Ended& ended);
  bool is_fork_server(pid_t pid) const;

  const std::map<ProcessId, WorkerProcess>& workers() const { return workers_; }

 private:
  struct Key {
    wire::WorkerKey description;
    std::unique_ptr<ForkServerLink> server;
    std::vector<std::unique_ptr<ForkServerLink>> ended;  // until their callbacks have returned
    std::uint32_t failures = 0;                          // in a row
    std::string reason;
  };

  Status ensure_server(WorkerKeyId number);
  void server_frame(wire::Incoming& frame);
  void server_ended(WorkerKeyId number);
  void spawned(ProcessId worker, const wire::Spawned& message, wire::Incoming& frame);
  void gone(ProcessId worker, int wait_status, std::uint64_t peak_memory_bytes);
  void failed(Key& key, std::string reason);

  event::Loop& loop_;
  os::Spawner& spawner_;
  LogRelay& logs_;
  Events events_;
  os::ProcessLimits limits_;
  std::map<WorkerKeyId, Key> keys_;
  WorkerKeyId last_key_ = 0;
  std::map<ProcessId, WorkerProcess> workers_;
};

}  // namespace fray::node
