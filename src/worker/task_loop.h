// TaskLoop: the worker's side of a lease: reads tasks from the direct socket, has them run, and answers.
//
//   TaskLoop loop(client, executor, page);
//   loop.run();                         // until the node ends this worker, or makes an actor of it
//
// Threading:  run() belongs to the task thread. The client's backup thread calls look() a millisecond after a task has
//             begun. If the task still runs, that thread sends finished results, and from then on sleeps on the socket
//             for cancels and recalls, until the task's timeout. Where the task's function was slow the last time, the
//             task thread sends them before it begins, and the backup thread sleeps on the socket at once. `mutex_` guards the socket, the inbox and the state of
//             the running task. Lock order: the client's mutex is taken before `mutex_`, so the client is never called
//             with `mutex_` held.
// Ownership:  owns the direct socket; the client, the executor and the page must outlive it.
// Failure:    when the client that leased this worker is gone, tasks that have not started are dropped and the loop waits
//             for the next lease; if a task is running, the node kills this worker. When the node is gone the process
//             exits, as it does when a task has closed the descriptors of the loop.
#pragma once

#include <atomic>
#include <csignal>
#include <deque>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "client/client.h"
#include "os/process/crowded_cpu.h"
#include "wire/actor.h"
#include "wire/direct.h"
#include "wire/frame.h"
#include "wire/lease.h"
#include "wire/socket.h"
#include "worker/begin_rate.h"
#include "worker/idle_watch.h"
#include "worker/kept_functions.h"
#include "worker/pacing.h"
#include "worker/slow_watch.h"
#include "worker/task_meter.h"
#include "worker/untaken_items.h"

namespace fray::worker {

// A task as the executor sees it. The views point into the frame, which lives until the task has ended.
struct TaskView {
  std::uint64_t number = 0;
  ProcessId client = 0;
  wire::TaskHead head;
  std::string_view name;
  std::string_view trace;  // the caller's trace context, a W3C traceparent; empty: there is none
  std::string_view arguments;

  bool is_generator() const { return head.kind == wire::CallKind::kGenerator; }
  // Reads the body of the task's frame.
  void read(wire::ByteReader& in) {
    head = in.get<wire::TaskHead>();
    name = in.get_raw(head.name_bytes);
    trace = in.get_raw(head.trace_bytes);
    arguments = in.get_raw(in.left());
  }
};

// How a task has ended. `bytes` holds encoded values, one after the other.
struct Outcome {
  wire::TaskStatus status = wire::TaskStatus::kOk;
  std::uint16_t values = 0;
  std::string bytes;
  bool retire = false;         // this worker is to run no further task
  std::uint64_t bytes_in = 0;  // of all arguments, with those in shared memory
  std::uint64_t bytes_out = 0;

  // Results, or an exception, that are together more than a message may carry become a failure that says so.
  void keep_within(std::uint64_t most_bytes);
};

// The error that `what`, such as "the results are", is too large for a message.
Status too_large(std::string_view what, std::uint64_t bytes, std::uint64_t most_bytes);

// The end of a worker whose task has closed descriptors that it had not opened: nobody could reach it any more.
[[noreturn]] void end_without_descriptors();

// Runs tasks in some language.
struct Executor {
  virtual ~Executor() = default;
  // A lease that holds this many CPUs begins.
  virtual void leased(double cpus) = 0;
  // The devices that this process is bound to. Called on the task thread before the first task, or before the process
  // becomes an actor.
  virtual void bind(const wire::BindDevices& binding) = 0;
  // Loads the callable of this id. Called on the task thread before the first task that needs it.
  virtual void define(std::uint64_t function, std::string_view payload) = 0;
  // Drops the callable: no task calls it before it is defined again. Called on the task thread.
  virtual void forget(std::uint64_t function) = 0;
  virtual void run(const TaskView& task, Outcome* outcome) = 0;
  // Interrupts what run() is doing, from the backup thread. It may come too late; see TaskLoop::interrupted().
  virtual void interrupt() = 0;
  // Ends the system call that run() may be in, from the backup thread. An interrupt that comes between the last look for
  // one and a system call is not seen before that call ends, which may be never.
  virtual void end_system_call() = 0;
  // Around a blocking wait of the loop itself (Python: release the GIL).
  virtual void before_sleep() = 0;
  virtual void after_sleep() = 0;
};

// The memory in which the node sees what this worker is doing (model/worker_page.h).
struct Page {
  virtual ~Page() = default;
  virtual void leased() = 0;  // to another client, which numbers its tasks anew
  virtual void started(const TaskView& task, std::string_view name, std::uint64_t now_ns) = 0;
  // An actor's callers; see WorkerPage.
  virtual void caller_joined(std::uint32_t slot, ProcessId client) = 0;
  virtual void caller_left(std::uint32_t slot) = 0;
  virtual void call_started(std::uint32_t slot, std::uint64_t number) = 0;
  virtual void call_ended(std::uint32_t slot, std::uint64_t number) = 0;
  virtual void ended() = 0;
  virtual void blocked(bool is_blocked) = 0;
};

class TaskLoop : public client::WorkerDuty {
 public:
  TaskLoop(client::Client& client, Executor& executor, Page& page);

  void run();
  // The actor that this worker is to become from now on.
  std::optional<wire::HostActor> take_actor();

  // Whether the running task is to end now, and why. For the executor, on the task thread.
  enum class Interrupt : std::uint8_t { kNone, kCancelled, kTimedOut };
  friend constexpr Interrupt last_of(Interrupt) { return Interrupt::kTimedOut; }
  Interrupt interrupted();

  // While a person debugs the running task, its time does not count against its timeout. Called on the task thread.
  void hold_timeout(bool held);
  bool was_held() const { return was_held_; }  // during the running task

  // Sends one item of the running generator task, and waits while the client has too many items to take. False: the
  // task is to stop.
  bool send_item(const TaskView& task, std::uint32_t index, std::string_view value, std::uint64_t value_bytes);

  // WorkerDuty.
  void lease_arrived(LeaseId lease, ProcessId client, double cpus, os::Fd fd) override;
  void actor_arrived(wire::HostActor actor) override;
  void devices_bound(const wire::BindDevices& binding) override;
  void node_gone() override;
  client::DutyPlan look() override;
  int watch_fd() override { return slow_watch_.fd(); }
  void blocked() override;
  void unblocked() override;
  bool flush_answers() override;
  void wake() override {}
  void abandon() FRAY_UNCHECKED_LOCKING override { socket_.close(); }  // a forked child has one thread

 private:
  struct Frame {
    wire::FrameHeader header;
    std::string body;
  };

  bool wait_for_lease();
  void give_up();
  void serve();
  bool next_frame(Frame* frame);
  void run_task(const Frame& frame);
  // Notes what runs from now on, for the backup thread. Returns whether that thread is to look within a millisecond.
  bool begin(const TaskView& task, std::uint64_t now);
  // Writes the answer of a task that has ended behind those that were not sent yet.
  void answer(std::uint64_t task, std::uint64_t started, std::uint64_t duration, const TaskCost& cost,
              const Outcome& outcome) FRAY_REQUIRES(mutex_);
  void drop(const std::vector<std::uint64_t>& functions);
  bool read_socket() FRAY_REQUIRES(mutex_);  // false: the client is gone
  void sort_frame(wire::Incoming& incoming) FRAY_REQUIRES(mutex_);
  void return_unstarted(wire::ReturnReason reason) FRAY_REQUIRES(mutex_);
  void flush() FRAY_REQUIRES(mutex_);
  void interrupt(Interrupt why) FRAY_REQUIRES(mutex_);
  void follow_interrupt(std::uint64_t now, client::DutyPlan* plan) FRAY_REQUIRES(mutex_);
  void look_at_slow() FRAY_REQUIRES(mutex_);
  void watch_socket() FRAY_REQUIRES(mutex_);  // by the backup thread, until slow_watch_ is disarmed
  bool must_end(std::uint64_t now_ns) FRAY_REQUIRES(mutex_);
  client::DutyPlan::TimePoint timeout_due() const FRAY_REQUIRES(mutex_);
  void cancel_started() FRAY_REQUIRES(mutex_);  // releases the mutex meanwhile
  void restore_signal_mask() const;
  void watch_side_waits(client::DutyPlan* plan);
  void look_for_rest();
  void set_idle(bool idle);
  void give_way() FRAY_REQUIRES(turns_);
  void go_on() FRAY_REQUIRES(turns_);

  client::Client& client_;
  Executor& executor_;
  Page& page_;
  TaskMeter meter_;  // used by the task thread alone, as are the next three
  KeptFunctions functions_;
  os::CrowdedCpu crowd_;
  sigset_t signal_mask_{};  // that tasks begin with

  // Guards why the task does not need its CPU: its own thread waits; or other threads and event loops wait, and the
  // process is idle meanwhile. It is held while the node is told, so that the node is told of the changes in their order,
  // and is taken before the client's mutex.
  Mutex turns_;
  std::atomic<bool> waits_{false};  // written with turns_, as is idle_
  std::atomic<bool> idle_{false};
  IdleWatch idle_watch_;  // used by the backup thread alone, as are the next two
  bool watches_ = false;
  std::uint64_t seen_ends_ = 0;

  Mutex mutex_;
  Condition lease_changed_;
  struct Offer {
    ProcessId client = 0;
    double cpus = 0;
    os::Fd fd;
  };
  std::deque<Offer> offers_ FRAY_GUARDED_BY(mutex_);
  std::optional<wire::HostActor> actor_ FRAY_GUARDED_BY(mutex_);
  std::optional<wire::BindDevices> binding_ FRAY_GUARDED_BY(mutex_);  // until it is carried out
  ProcessId leased_to_ = 0;
  wire::FrameSocket socket_ FRAY_GUARDED_BY(mutex_);
  bool connected_ FRAY_GUARDED_BY(mutex_) = false;
  std::deque<Frame> inbox_ FRAY_GUARDED_BY(mutex_);
  bool task_blocked_ FRAY_GUARDED_BY(mutex_) = false;
  bool retiring_ FRAY_GUARDED_BY(mutex_) = false;

  std::uint64_t running_ FRAY_GUARDED_BY(mutex_) = 0;  // number of the running task; 0: none
  std::string_view running_name_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t started_ns_ FRAY_GUARDED_BY(mutex_) = 0;
  double timeout_seconds_ FRAY_GUARDED_BY(mutex_) = 0;
  std::uint64_t held_since_ns_ FRAY_GUARDED_BY(mutex_) = 0;  // 0: the timeout is not held
  std::uint64_t held_ns_ FRAY_GUARDED_BY(mutex_) = 0;        // of the running task so far
  bool was_held_ = false;                                    // used by the task thread alone
  Interrupt interrupt_ FRAY_GUARDED_BY(mutex_) = Interrupt::kNone;
  std::uint64_t interrupted_at_ns_ FRAY_GUARDED_BY(mutex_) = 0;
  bool interrupt_seen_ FRAY_GUARDED_BY(mutex_) = false;  // by the task thread
  std::uint64_t end_system_call_at_ns_ FRAY_GUARDED_BY(mutex_) = 0;
  std::uint64_t begun_ FRAY_GUARDED_BY(mutex_) = 0;  // tasks that have begun so far
  std::uint64_t begun_before_lease_ FRAY_GUARDED_BY(mutex_) = 0;
  BeginRate begin_rate_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t patience_ns_ FRAY_GUARDED_BY(mutex_) = kSlowNs;  // with the running task; 0: it is taken as slow
  SlowWatch slow_watch_;                                         // changed with mutex_ held
  std::uint64_t first_started_ FRAY_GUARDED_BY(mutex_) = 0;      // number of the first task that the running one starts
  bool cancels_started_ FRAY_GUARDED_BY(mutex_) = false;         // the tasks that it has started are to be cancelled
  UntakenItems untaken_ FRAY_GUARDED_BY(mutex_);                 // of the running generator
  Condition items_taken_;
  std::atomic<bool> stop_{false};
};

}  // namespace fray::worker
