// Client: one process's connection to a node, made of parts with one duty each.
//
//   auto client = Client::connect(options).value();
//   Object* result = client->tasks().submit(std::move(call))->front();
//   client->waits().wait({&result, 1}, 1, std::nullopt, hooks);
//   client->objects().release(result);
//
//        Submission ── ActorCalls ── Objects ── LargeValues ── ObjectWaits        what users call
//             │             │           │           │              │
//   TaskTable, ActorTable ── TaskLedger  ObjectTable  NodeMemory   WaitKernel     tables, and who reads
//             └─────────────┴───────────┴───────────┴──────────────┤
//                                                               Reading ── WorkerSeat, SideWaits, CallWaits, WorkerOutput
//                                                                  │
//                                                            NodeConnection
//
// Threading:  every method of the parts may be called from any thread unless it says otherwise. A thread that waits
//             reads the sockets itself, others sleep until it tells them, and one backup thread serves the sockets
//             while nobody waits (client/threads/wait_kernel.h); it never calls back into a language runtime. One mutex
//             guards all tables; it is never held in a blocking system call.
// Ownership:  owns the parts. Objects are counted. A closed client lives on until its last object is released.
// Failure:    when the node is gone every waiter gets kUnavailable, and so does every later call; kClosed after
//             close().
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/actor_calls.h"
#include "client/large_values.h"
#include "client/object_waits.h"
#include "client/submission.h"
#include "client/tasks/timeline.h"
#include "client/threads/wait_kernel.h"
#include "door/patience.h"
#include "wire/session.h"
#include "wire/worker_key.h"

namespace fray::client {

struct ClientOptions {
  os::Fd control;
  wire::Role role = wire::Role::kDriver;
  ProcessId process = 0;  // workers
  wire::WorkerKey key;    // drivers: what this process is like
  std::uint32_t prestart = 0;
  door::Patience hello;            // how long the node may take to answer our hello; by default the door's own limit
  OutputWriter* output = nullptr;  // takes what workers print; null: it is dropped
  bool fold_output = true;         // see client/output/line_folder.h
  bool started_node = false;       // the node lives as long as its clients: close() waits for its end
};

class Client {
 public:
  static Result<std::unique_ptr<Client>> connect(ClientOptions options);
  // The same in two steps, for a caller that has something to do until the node answers. Nothing else may be called before
  // join() has returned ok.
  static std::unique_ptr<Client> greet(ClientOptions options);
  Status join();
  ~Client();

  Submission& tasks() { return submission_; }
  ActorCalls& actors() { return actor_calls_; }
  Objects& objects() { return refs_; }
  LargeValues& values() { return large_values_; }
  ObjectWaits& waits() { return waits_; }
  CallWaits& call_waits() { return call_waits_; }
  WorkerOutput& output() { return output_; }

  const wire::Session& node() const { return connection_.session(); }
  const ResourceSet& total() const { return connection_.total(); }  // of the node
  bool is_open() const { return connection_.is_open(); }
  Status why_closed() const { return connection_.why_closed(); }  // ok while it is open
  Result<std::string> status(WaitHooks& hooks);                   // the node's JSON
  bool has_unfinished_work() const;
  Timeline::Runs timeline() const;
  std::vector<Timeline::Failure> failures() const;
  // To be called before this process ends: while somebody looks at the node's dashboard, tells the node of the runs that it
  // does not know of yet.
  void tell_last_runs();
  // Does the same, sends what is pending, returns leases and closes the connection. Unfinished tasks fail. A node that this
  // client has started, and that no other uses, has killed its processes when this returns. Idempotent.
  void close();
  // In a child of fork(): forgets sockets and thread without touching the parent's state.
  void abandon_after_fork() FRAY_UNCHECKED_LOCKING;  // there is one thread, and the mutex may be locked for ever

  // ---- The worker's side ----
  // The task or call that this thread runs from now on: waits of the thread count as waits of that call.
  static void set_call(const RunningCall& call) { current_call = call; }
  void set_duty(WorkerDuty* duty);  // when this returns, the duty that was set before is not called any more
  // Lets the backup thread look at the duty soon. Called after the duty has noted why; with any lock or none.
  void guard() { kernel_.guard(); }
  // Lets main threads that wait ask whether they are to give up. Called with any lock or none.
  void ask_waiters() { kernel_.ask_waiters(); }
  SignalPipe& signals() { return kernel_.signals(); }
  // Tells the node of a result that is sealed or has refs inside, in the name of the client that owns the result.
  void record_result(ObjectId id, ProcessId holder, wire::Value& value, Object* made);
  void say(wire::ControlType type) { connection_.say(type); }  // kBlocked, kUnblocked, kRetiring
  void flush_link() { connection_.flush(); }
  // Called before the answer of a task is sent: sends records, and gives back leases that the task has used. Returns the
  // number of the next task that this process will submit.
  std::uint64_t task_ended();
  SideWaits::Count side_waits() const;

 private:
  explicit Client(ClientOptions options);

  void say_hello() FRAY_UNCHECKED_LOCKING;    // before there is another thread
  Status hear_node() FRAY_UNCHECKED_LOCKING;  // likewise
  Status start_backup();

  ClientOptions options_;
  mutable ClientMutex mutex_;
  ReadingKernel kernel_;
  NodeConnection connection_;
  NodeMemory node_memory_;
  ObjectTable object_table_ FRAY_GUARDED_BY(client_mutex);
  Timeline timeline_ FRAY_GUARDED_BY(client_mutex);
  TaskLedger ledger_ FRAY_GUARDED_BY(client_mutex);
  TaskTable task_table_ FRAY_GUARDED_BY(client_mutex);
  ActorTable actor_table_ FRAY_GUARDED_BY(client_mutex);
  WorkerSeat seat_ FRAY_GUARDED_BY(client_mutex);
  SideWaits side_waits_ FRAY_GUARDED_BY(client_mutex);
  CallWaits call_waits_;
  WorkerOutput output_;
  Reading reading_ FRAY_GUARDED_BY(client_mutex);
  Objects refs_;
  LargeValues large_values_;
  ObjectWaits waits_;
  Submission submission_;
  ActorCalls actor_calls_;
  std::thread backup_;
};

}  // namespace fray::client
