// Client: one process's connection to a node: submit, put, get, wait, cancel.
//
//   auto client = Client::connect(options).value();
//   Object* result = client->submit(std::move(call)).front();
//   client->wait({&result, 1}, 1, Deadline::never(), hooks);
//   client->release(result);
//
// Threading:  every method may be called from any thread. A thread that waits reads the sockets itself (the leader);
//             others sleep until it tells them. One backup thread serves what nobody waits for: it ticks each
//             millisecond while there is something to do and sleeps in poll() when there is not. It never calls back
//             into a language runtime. One mutex guards all tables; it is never held in a blocking system call.
// Ownership:  objects are counted; release() ends a count. A closed client lives on until its last object is released.
// Failure:    when the node is gone every waiter gets kUnavailable, and so does every later call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "client/actor_table.h"
#include "client/completion_queue.h"
#include "client/line_folder.h"
#include "client/node_link.h"
#include "client/object_table.h"
#include "client/output_writer.h"
#include "client/shared_memory.h"
#include "client/task_table.h"
#include "client/timeline.h"
#include "client/worker_keys.h"
#include "door/patience.h"
#include "door/questions.h"
#include "model/call_wait.h"
#include "wire/lease.h"
#include "wire/process.h"
#include "wire/session.h"
#include "wire/worker_key.h"

namespace fray {
class ResourceSet;
}

namespace fray::client {

struct ActorRequest;
struct Call;
struct TaskOptions;

// A handle's object, counted for the caller. `description` is that of its creator; empty when this is the creator.
struct FoundActor {
  Object* object = nullptr;
  std::string description;
};

enum class WaitResult { kDone, kTimedOut, kInterrupted, kClosed, kDeadlock };

// A worker's own duties towards the client that leased it.
struct WorkerDuty {
  virtual ~WorkerDuty() = default;
  virtual void lease_arrived(LeaseId lease, ProcessId client, double cpus, os::Fd fd) = 0;
  virtual void actor_arrived(wire::HostActor actor) = 0;  // the worker becomes an actor
  // The devices of this process, for ever; told before the lease or the actor that they are for.
  virtual void devices_bound(const wire::BindDevices& binding) = 0;
  virtual void node_gone() = 0;
  // Called by the backup thread about each millisecond while it ticks, without the client's mutex. True: keep ticking.
  virtual bool tick() = 0;
  virtual int poll_fd() = 0;  // -1: none; a socket to watch while the backup thread sleeps. Called with the mutex
  virtual void blocked() = 0;
  virtual void unblocked() = 0;
  // Sends the answers of calls that have ended; false when something had to stay back. May be called with the client's
  // mutex held.
  virtual bool flush_answers() = 0;
  virtual void wake() = 0;     // an event loop that runs calls has something to look at; likewise
  virtual void abandon() = 0;  // in a child of fork(): close sockets, touch no lock
};

// What a waiting thread does before it sleeps and after (releasing Python's GIL, say), and whether it should give up.
struct WaitHooks {
  virtual ~WaitHooks() = default;
  virtual void before_sleep() {}
  virtual void after_sleep() {}
  virtual bool interrupted() { return false; }            // asked after each sleep, with the hooks undone
  virtual bool is_main_thread() const { return false; }   // wakes up now and then to ask interrupted()
  virtual WorkerDuty* duty() { return nullptr; }          // set on the thread that runs a worker's tasks
  virtual bool waits_for_others() const { return true; }  // false: only for the node itself
  std::string deadlock;                                   // after kDeadlock: why the wait can never end
};

// What a thread of a worker runs: a task, or a call of the actor that the process is. `number` 0: nothing.
struct RunningCall {
  ProcessId client = 0;
  std::uint64_t number = 0;
  std::string_view name;  // must outlive the call
};

// What a thread, or a call of an event loop, waits for.
struct Awaited {
  std::span<Object* const> objects;
  std::size_t needed = 0;
};

struct ClientOptions {
  os::Fd control;
  wire::Role role = wire::Role::kDriver;
  ProcessId process = 0;  // workers
  wire::WorkerKey key;    // drivers: what this process is like
  std::uint32_t prestart = 0;
  door::Patience hello;            // with the node's answer to our hello; the door's own limit where it has no deadline
  OutputWriter* output = nullptr;  // takes what workers print; null: it is dropped
  bool fold_output = true;         // see client/line_folder.h
};

class Client {
 public:
  using Deadline = std::optional<Clock::time_point>;

  static Result<std::unique_ptr<Client>> connect(ClientOptions options);
  ~Client();

  const wire::Session& node() const { return session_; }
  const ResourceSet& total() const { return *total_; }  // of the node
  bool is_open() const { return open_.load(std::memory_order_acquire); }
  Status why_closed() const;  // ok while it is open

  // ---- Tasks ----
  // New counts on each result. kInvalidArgument when the node can never have the resources.
  Result<std::vector<Object*>> submit(std::unique_ptr<Task> task, const TaskOptions& options);
  Result<std::vector<Object*>> submit(Call call);
  // Releases what the arguments of a task that was not accepted hold. submit() and its like do so themselves.
  void release_arguments(Task& task);
  bool cancel(Object* object, bool force);
  // Whether the task of `object` was not sent to a worker yet; with `cancel` it never will be.
  bool is_waiting(Object* object, bool cancel);
  // The number of a further worker key (a runtime env), held once more. Equal keys share a number while anybody holds it. The
  // node may end what it has for a key that no task or actor uses, and makes it anew at the next use.
  std::uint32_t define_key(const wire::WorkerKey& key);
  void hold_key(std::uint32_t number);
  // Whoever held it once will submit nothing with this number any more. Tasks that were go on.
  void forget_key(std::uint32_t number);
  // Depth of tasks that this thread submits.
  static void set_depth(std::uint32_t depth);
  static std::uint32_t depth();
  // What this thread runs from now on: its waits are that call's.
  static void set_call(const RunningCall& call);

  // ---- Actors (client_actors.cc) ----
  // Waits for the node only when the actor has a name. kAlreadyExists: the name is taken.
  Result<FoundActor> create_actor(ActorRequest request, WaitHooks& hooks);
  // kResourceExhausted when `most_pending` calls (-1: no limit) of this process have no answer.
  Result<std::vector<Object*>> call_actor(Object* actor, Call call, std::int64_t most_pending);
  Result<FoundActor> find_actor(std::string_view name_space, std::string_view name, WaitHooks& hooks);
  // The named actors of every namespace.
  Result<wire::ActorNames> list_actors(WaitHooks& hooks);
  // Returns when the node has done it: later calls of this process fail.
  Status kill_actor(Object* actor, bool no_restart, WaitHooks& hooks);
  bool is_actor_call(const Object* object) const;
  // `places`: calls that it runs at once.
  void become_actor(ActorId self, std::uint32_t places);
  void say_actor_failed(const wire::ActorFailure& failure);

  // ---- Objects ----
  // An object with an inline value. Takes over the counts of `nested`.
  Object* put_inline(wire::Encoding encoding, std::string bytes, std::vector<Object*> nested);
  // A large value: copied into shared memory, with the hooks' sleep around the copy.
  Result<Object*> put_large(wire::Encoding encoding, std::span<const std::byte> whole,
                            std::span<const std::span<const std::byte>> buffers, WaitHooks& hooks);
  // The refs inside a ready object, with new counts.
  std::vector<Object*> nested(Object* object);
  std::vector<Object*> adopt(std::span<const ObjectId> ids);
  Object* adopt_sealed(const wire::ValueView& value);  // a large argument or item
  // The bytes of a ready, sealed object, as long as the view's pin lives. Keep a count of the object as well.
  Result<store::View> view(Object* object, WaitHooks& hooks);
  // Memory in the store for `bytes` that the user fills; leave_room() unless put_in_place() makes an object of it. Null
  // from put_in_place(): `buffer` is no such room.
  Result<Room> make_room(std::uint64_t bytes, WaitHooks& hooks);
  void leave_room(const std::byte* data);
  Object* put_in_place(wire::Encoding encoding, std::span<const std::byte> pickle, std::span<const std::byte> buffer);
  void release(Object* object);

  // ---- Waiting ----
  // Until `needed` of `objects` are ready.
  WaitResult wait(std::span<Object* const> objects, std::size_t needed, Deadline deadline, WaitHooks& hooks);
  // Next item of a generator task: kDone with `*item` null at the end.
  WaitResult next_item(Object* stream, Object** item, Deadline deadline, WaitHooks& hooks);
  // Waits for the end of a generator task; the items that were not taken, with counts. They stay in the stream.
  WaitResult all_items(Object* stream, std::vector<Object*>* items, Deadline deadline, WaitHooks& hooks);
  void lift_item_limit(Object* stream);
  // `queue` is told when `object` is ready, at once if it is. Without `flush`, frames that are buffered behind running
  // tasks stay so until somebody waits.
  void listen(Object* object, CompletionQueue* queue, bool flush = true);
  // Until something has arrived in `queue`.
  WaitResult wait_completed(CompletionQueue* queue, Deadline deadline, WaitHooks& hooks);
  void forget_listener(CompletionQueue* queue, std::span<Object* const> objects);
  std::vector<Object*> take_completed(CompletionQueue* queue);

  // ---- The worker's side ----
  void set_duty(WorkerDuty* duty);  // the one before is not called any more when this returns
  // Records a result that is sealed or has refs inside in the name of the client that owns it.
  void record_result(ObjectId id, ProcessId holder, wire::Value& value, Object* made);
  ObjectId new_object_id();
  void share(std::span<Object* const> objects);
  void say(wire::ControlType type);  // kBlocked, kUnblocked, kRetiring
  void flush_link();
  void task_ended();  // before its answer leaves: records go out, leases that it used go back
  // Side waits are those for others that do not stop the thread that runs a worker's task: waits of its other threads,
  // which wait_until() counts, and of coroutines. They belong to the task during which they began.
  // A coroutine waits for `object`, of which `queue` tells its event loop. The number of the wait; 0: nobody wants to know.
  std::uint64_t begin_side_wait(Object* object, CompletionQueue* queue);
  // Why it could never end; empty: it could.
  std::string end_side_wait(std::uint64_t wait);
  // Queues that event loops read.
  void add_loop(CompletionQueue* queue);
  void forget_loop(CompletionQueue* queue);
  struct SideWaits {
    std::size_t lasting = 0;
    std::uint64_t ended = 0;  // so far
  };
  SideWaits side_waits() const;
  // Of the calls that run in this process, those that can only go on when one of the waits of this process ends are told
  // to the node (client_resting_calls.cc). For the backup thread, when it is time to look at all threads again.
  bool is_time_to_look() const;
  void look_for_resting(std::span<const RunningCall> calls);
  // A call that runs in an event loop waits for one of these, and for nothing else: no timer, no other event ends its wait.
  // The number of the wait, by which it is said again and forgotten; 0: nothing certain can be said now.
  std::uint64_t say_call_waits(std::uint64_t known, const RunningCall& call, std::vector<Object*> objects);
  void forget_call_wait(std::uint64_t wait);
  // Those among them that can never end, with why, since the last time.
  std::vector<std::pair<std::uint64_t, std::string>> take_refused_waits();
  bool has_unfinished_work() const;
  void wake_backup();  // a task begins; after TaskLoop has noted it

  // ---- The rest ----
  Result<std::string> status(WaitHooks& hooks);  // the node's JSON
  // Waits, shortly, for what workers had written before their results came, and as long as somebody reads it, until it is
  // written.
  void drain_output(WaitHooks& hooks);
  Timeline::Runs timeline() const;
  std::vector<Timeline::Failure> failures() const;
  // Sends what is pending, returns leases, closes. Unfinished tasks fail. Idempotent.
  void close();
  // In a child of fork(): forgets sockets and thread without touching the parent's state.
  void abandon_after_fork() FRAY_UNCHECKED_LOCKING;  // there is one thread, and the mutex may be locked for ever

 private:
  explicit Client(ClientOptions options);

  Status handshake() FRAY_UNCHECKED_LOCKING;  // before there is another thread
  void start_backup();
  void backup_loop();
  int backup_tick() const FRAY_REQUIRES(mutex_);  // how many ms the backup thread may sleep; -1: until it is woken
  bool tick_duty() FRAY_REQUIRES(mutex_);         // lets go of the mutex meanwhile
  bool pump() FRAY_REQUIRES(mutex_);              // reads all sockets once; true when something was read
  void pump_tasks() FRAY_REQUIRES(mutex_);        // reads the workers' sockets only
  void handle(wire::Incoming& frame) FRAY_REQUIRES(mutex_);
  void node_lost(std::string why) FRAY_REQUIRES(mutex_) { end({StatusCode::kUnavailable, std::move(why)}); }
  void end(Status why) FRAY_REQUIRES(mutex_);
  void settle() FRAY_REQUIRES(mutex_);  // works off what became ready
  void became_ready(Object* object) FRAY_REQUIRES(mutex_);
  void wake_sleepers() FRAY_REQUIRES(mutex_);
  void wake_stale_sleepers() FRAY_REQUIRES(mutex_);
  void fill_poll_set(std::vector<pollfd>& set, const os::Fd& wake) FRAY_REQUIRES(mutex_);
  // `condition` is asked under the mutex, more than once: it must only look.
  WaitResult wait_until(FunctionRef<bool()> condition, Deadline deadline, WaitHooks& hooks,
                        const Awaited* awaited = nullptr);
  // A process of a job that waits for long lends the job's CPUs to others.
  void begin_long_wait() FRAY_REQUIRES(mutex_);
  void end_long_wait() FRAY_REQUIRES(mutex_);
  void lend_for_side_waits(Clock::time_point now) FRAY_REQUIRES(mutex_);
  std::uint64_t add_side_wait() FRAY_REQUIRES(mutex_);
  void drop_side_wait(std::uint64_t task) FRAY_REQUIRES(mutex_);
  // The same for what the node answers by itself, without another task: a worker keeps its CPU meanwhile.
  WaitResult wait_for_node(FunctionRef<bool()> answered, Deadline deadline, WaitHooks& hooks);
  // `all`: also the lines that are held back.
  void deliver_logs(bool all = false) FRAY_REQUIRES(mutex_);
  void hold_output() FRAY_REQUIRES(mutex_);  // tells the node whether workers have to wait in `print`
  void object_arrived(ObjectId id, wire::Value value) FRAY_REQUIRES(mutex_);
  SharedMemory::Node memory_of_the_node();
  Status ask_for_memory(std::uint64_t bytes);
  void unreserve(std::uint64_t bytes) FRAY_REQUIRES(mutex_);
  void return_memory() FRAY_REQUIRES(mutex_);
  // `resources`: that this node may lack; null: it has them.
  Status why_refused(const Task& task, const ResourceSet* resources, std::string_view kind) const FRAY_REQUIRES(mutex_);
  // Lets go of a task unless it was accepted meanwhile. Destroyed without the mutex.
  struct Unaccepted {
    Client& client;
    std::unique_ptr<Task>& task;
    ~Unaccepted() {
      if (task) client.release_arguments(*task);
    }
  };
  std::vector<Object*> make_results(Task* task, const TaskOptions& options) FRAY_REQUIRES(mutex_);
  void handle_actor(wire::Incoming& frame) FRAY_REQUIRES(mutex_);
  // Waits of calls that the node knows of (client_call_waits.cc).
  struct KnownWait {
    RunningCall call;
    Awaited awaited;
    std::uint64_t number = 0;  // 0: the node does not know it
    bool refused = false;
    std::string why;               // refused
    std::vector<Object*> of_loop;  // what `awaited` looks at, for a call of an event loop; counted
    std::string name;              // what `call` looks at, likewise
  };
  bool describe(const KnownWait& known, CallWait* wait) const FRAY_REQUIRES(mutex_);
  bool add_awaited(const Object* object, bool all, int depth, CallWait* wait) const FRAY_REQUIRES(mutex_);
  bool tell(KnownWait& known) FRAY_REQUIRES(mutex_);
  void untell(KnownWait& known) FRAY_REQUIRES(mutex_);
  void tell_all_again(std::uint64_t probe) FRAY_REQUIRES(mutex_);
  void wait_refused(std::uint64_t wait, std::string why) FRAY_REQUIRES(mutex_);
  void drop_loop_wait(std::uint64_t number) FRAY_REQUIRES(mutex_);
  KnownWait* say_loop_wait(const RunningCall& call, std::vector<Object*> objects) FRAY_REQUIRES(mutex_);
  // A thread that sleeps in wait_until() until refs come, and nothing else.
  struct Sleeper {
    pid_t thread = 0;
    RunningCall call;
    Awaited awaited;
    bool refused = false;
    std::string why;  // refused
  };
  // A coroutine that waits for a ref.
  struct LoopSleeper {
    std::uint64_t task = 0;    // during which it began
    Object* object = nullptr;  // counted
    CompletionQueue* queue = nullptr;
    std::string why;  // refused
  };
  std::vector<Object*> awaited_by_all() const FRAY_REQUIRES(mutex_);
  bool may_rest() const FRAY_REQUIRES(mutex_) {
    return duty_ != nullptr && resting_.empty() && (side_waits_.lasting > 0 || places_ > 1) &&
           !(sleepers_.empty() && loop_sleepers_.empty());
  }
  int milliseconds_to_look() const FRAY_REQUIRES(mutex_);
  void waits_changed() FRAY_REQUIRES(mutex_);  // what was seen of resting calls says nothing any more
  bool refuse_resting(std::uint64_t wait, std::string& why) FRAY_REQUIRES(mutex_);
  void withdraw(Object* actor);
  // Questions that the node answers by itself (client_questions.cc). `unwanted`: see door/questions.h.
  using Unwanted = door::Questions::Unwanted;
  template <typename Message>
  door::Ticket ask(wire::ControlType type, const Message& message, Unwanted unwanted = {}) FRAY_REQUIRES(mutex_) {
    const door::Ticket ticket = questions_.ask(std::move(unwanted));
    link_.send(type, ticket, message);
    return ticket;
  }
  door::Ticket ask(wire::ControlType type) FRAY_REQUIRES(mutex_);
  Result<door::Answer> await_answer(door::Ticket ticket, Deadline deadline, WaitHooks& hooks);
  void answer_arrived(const wire::Incoming& frame, Status outcome = {}) FRAY_REQUIRES(mutex_);
  Result<std::string> ask_for_status(Deadline deadline, WaitHooks& hooks);
  Unwanted let_go_of_actor();
  Object* new_sealed(wire::Encoding encoding, const Location& location);
  Status open_segment(SegmentId segment, WaitHooks& hooks);

  ClientOptions options_;
  wire::Session session_;
  std::unique_ptr<const ResourceSet> total_;
  std::atomic<bool> open_{false};

  mutable Mutex mutex_;
  Condition readers_changed_;
  NodeLink link_ FRAY_GUARDED_BY(mutex_);
  SharedMemory memory_;
  ObjectTable objects_ FRAY_GUARDED_BY(mutex_);
  Timeline timeline_ FRAY_GUARDED_BY(mutex_);
  TaskTable tasks_ FRAY_GUARDED_BY(mutex_);
  ActorTable actors_ FRAY_GUARDED_BY(mutex_);
  std::vector<Object*> newly_ready_ FRAY_GUARDED_BY(mutex_);  // counted
  std::vector<wire::Log> logs_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t logs_seen_ FRAY_GUARDED_BY(mutex_) = 0;
  LineFolder folder_ FRAY_GUARDED_BY(mutex_);
  WorkerKeys keys_ FRAY_GUARDED_BY(mutex_);
  bool output_held_ FRAY_GUARDED_BY(mutex_) = false;
  Status closed_ FRAY_GUARDED_BY(mutex_);
  door::Questions questions_ FRAY_GUARDED_BY(mutex_);
  std::uint32_t places_ FRAY_GUARDED_BY(mutex_) = 1;             // of the calls of an actor
  std::vector<KnownWait*> known_waits_ FRAY_GUARDED_BY(mutex_);  // to the node
  std::uint64_t wait_numbers_ FRAY_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<KnownWait>> loop_waits_ FRAY_GUARDED_BY(mutex_);
  std::vector<Sleeper*> sleepers_ FRAY_GUARDED_BY(mutex_);  // the one that began last is the last
  std::map<std::uint64_t, LoopSleeper> loop_sleepers_ FRAY_GUARDED_BY(mutex_);
  std::set<CompletionQueue*> loops_ FRAY_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> resting_ FRAY_GUARDED_BY(mutex_);  // waits in loop_waits_ that look_for_resting() has told
  std::uint64_t waits_changes_ FRAY_GUARDED_BY(mutex_) = 0;
  Clock::time_point look_at_ FRAY_GUARDED_BY(mutex_);
  Clock::duration look_again_ FRAY_GUARDED_BY(mutex_){};
  std::unordered_map<const std::byte*, Room> rooms_ FRAY_GUARDED_BY(mutex_);
  Mutex returns_mutex_;
  std::vector<std::string> returned_memory_ FRAY_GUARDED_BY(returns_mutex_);  // frames for the node
  bool reader_busy_ FRAY_GUARDED_BY(mutex_) = false;
  int followers_ FRAY_GUARDED_BY(mutex_) = 0;
  int long_waits_ FRAY_GUARDED_BY(mutex_) = 0;  // threads
  SideWaits side_waits_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t tasks_begun_ FRAY_GUARDED_BY(mutex_) = 0;       // whose side waits count now
  Clock::time_point side_waits_since_ FRAY_GUARDED_BY(mutex_);  // when the first of them began
  bool lent_for_side_waits_ FRAY_GUARDED_BY(mutex_) = false;    // of a process of a job
  std::uint64_t progress_ FRAY_GUARDED_BY(mutex_) = 0;          // frames handled; the backup thread compares
  std::uint64_t completions_ FRAY_GUARDED_BY(mutex_) = 0;

  struct EarlyLease {
    LeaseId lease = 0;
    ProcessId client = 0;
    double cpus = 0;
    os::Fd fd;
  };
  void deliver_leases() FRAY_REQUIRES(mutex_);
  std::vector<EarlyLease> early_leases_ FRAY_GUARDED_BY(mutex_);  // that came before the duty was set
  std::optional<wire::HostActor> early_actor_ FRAY_GUARDED_BY(mutex_);
  std::optional<wire::BindDevices> early_devices_ FRAY_GUARDED_BY(mutex_);
  WorkerDuty* duty_ FRAY_GUARDED_BY(mutex_) = nullptr;
  bool duty_busy_ FRAY_GUARDED_BY(mutex_) = false;  // it ticks, without the mutex
  Condition duty_left_;
  os::Fd wake_;         // of the backup thread
  os::Fd leader_wake_;  // of the thread that leads
  bool leader_asleep_ FRAY_GUARDED_BY(mutex_) = false;
  std::uint64_t leader_version_ FRAY_GUARDED_BY(mutex_) = 0;  // of the sockets that it watches in its sleep
  std::atomic<bool> backup_asleep_{false};
  // What it fell asleep with: the milliseconds of its tick, -1 for none, the time of a held line, and the sockets.
  int asleep_tick_ FRAY_GUARDED_BY(mutex_) = -1;
  std::optional<Clock::time_point> asleep_due_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t asleep_version_ FRAY_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoned_{false};  // in a child of fork(): the mutex may be locked for ever
  std::thread backup_;
};

}  // namespace fray::client
