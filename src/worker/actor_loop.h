// ActorLoop: the actor's side of its callers' sockets: gives out calls in the order of arrival, and sends their
// answers.
//
//   ActorLoop loop(client, page, "Counter");
//   while (ActorCall* call = loop.next(true, hooks)) { run it; loop.answer(call, outcome); }
//
// Any number of threads may run this `while`. A thread that finds no call reads the sockets for all of them, and the
// others sleep until it has read a call. An event loop calls next(false) instead, whenever event_fd() is readable.
//
// Threading:  next(), answer() and send_item() from any thread; the client's backup thread calls look(). `mutex_` guards
//             everything; the client is never called with it held, for the client's own mutex comes first.
// Ownership:  owns the callers' sockets and the calls that were handed out, each until its answer.
// Failure:    calls of a caller that is gone are dropped, and those of its calls that run are not answered. When the node
//             is gone next() returns null, and the process exits if a call is running, because nobody is left to answer
//             to. The process also exits when a call has closed the descriptors of the loop.
#pragma once

#include <deque>
#include <list>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/client.h"
#include "model/worker_page.h"
#include "os/process/crowded_cpu.h"
#include "wire/direct.h"
#include "worker/begin_rate.h"
#include "worker/caller_sockets.h"
#include "worker/pacing.h"
#include "worker/task_loop.h"
#include "worker/untaken_items.h"

namespace fray::worker {

// A call that was handed out. `task` points into `body`.
struct ActorCall {
  std::uint64_t caller = 0;
  std::string body;
  TaskView task;
  std::uint64_t started_ns = 0;
  UntakenItems untaken;  // of a generator method
  bool cancelled = false;
  bool cancels_started = false;          // the tasks and calls that this call has started are cancelled with it
  std::uint64_t ordinal = 0;             // the number of the call in this process, never given twice
  bool told = false;                     // take_cancelled() has returned this call
  std::list<ActorCall>::iterator place;  // in the list of running calls
};

class ActorLoop : public client::WorkerDuty {
 public:
  // kSerial: one thread, which runs one call at a time. kThreads: several such threads. kEventLoop: one thread that has
  // many calls under way, and reads the sockets itself.
  enum class Mode : std::uint8_t { kSerial, kThreads, kEventLoop };
  friend constexpr Mode last_of(Mode) { return Mode::kEventLoop; }

  // `actor_name` stands before the method's name where people read it.
  ActorLoop(client::Client& client, Page& page, std::string actor_name);
  ~ActorLoop() override;

  // To be called before the first call.
  void set_mode(Mode mode) { mode_ = mode; }

  // The next call. Null: there is none and `wait` is false, the wait was interrupted, or the loop has ended.
  ActorCall* next(bool wait, client::WaitHooks& hooks);
  // The next call of those that were read already, or null; does not read the sockets.
  ActorCall* next_read();
  // For an event loop that has nothing to do: looks for calls for a moment before the loop sleeps. True: a call has come,
  // or the loop has ended.
  bool spin();
  void answer(ActorCall* call, Outcome& outcome);
  // Sends the answers that were not sent yet.
  void flush();
  bool has_ended();
  bool has_calls();  // whether calls were read and not taken
  const std::string& actor_name() const { return actor_name_; }
  void read();  // the calls that have arrived, without taking one

  // Sends one item of a generator method. With `wait`, returns when another may be sent. False: the method is to stop.
  bool send_item(ActorCall* call, std::uint32_t index, std::string_view value, std::uint64_t value_bytes, bool wait,
                 client::WaitHooks& hooks);
  bool may_send(ActorCall* call);
  bool is_cancelled(ActorCall* call);
  // The running calls that were cancelled since this was called last.
  std::vector<ActorCall*> take_cancelled();

  // WorkerDuty.
  void lease_arrived(LeaseId lease, ProcessId client, double cpus, os::Fd fd) override;
  void actor_arrived(wire::HostActor) override {}
  void devices_bound(const wire::BindDevices&) override {}  // the process was bound before the actor arrived
  void node_gone() override;
  client::DutyPlan look() override;
  int watch_fd() override { return slow_watch_.fd(); }
  void blocked() override;
  void unblocked() override;
  bool flush_answers() override;
  void wake() override;
  void abandon() FRAY_UNCHECKED_LOCKING override;  // a forked child has one thread

  // Readable when next(false) may return a call.
  int event_fd() const { return epoll_.get(); }

 private:
  using Caller = CallerSockets::Caller;
  struct Frame {
    std::uint64_t caller = 0;
    std::uint64_t number = 0;
    std::string body;
  };
  // A time in which a thread looks for calls again and again before it sleeps.
  struct Spin {
    std::uint64_t until_ns = 0;  // 0: it has not begun
    bool one_by_one = true;      // calls come one by one, as far as is known
  };

  // Gives the CPU away for a moment, with the mutex released. False: the thread is to sleep instead.
  bool yield_once(Spin& spin) FRAY_REQUIRES(mutex_);
  // Whether a generator may produce another item, or has to learn that nobody wants one.
  bool may_go_on(const ActorCall& call) const FRAY_REQUIRES(mutex_);
  ActorCall* take() FRAY_REQUIRES(mutex_);
  // Prepares the backup thread for a call that begins. Returns whether it is to look within a millisecond.
  bool watch_call(const ActorCall& call) FRAY_REQUIRES(mutex_);
  void read_ready(int timeout_ms) FRAY_REQUIRES(mutex_);  // releases the mutex while it waits
  void read(std::uint64_t id) FRAY_REQUIRES(mutex_);
  void sort_frame(std::uint64_t id, wire::FrameSocket& socket, wire::Incoming& incoming) FRAY_REQUIRES(mutex_);
  void cancel(std::uint64_t id, std::uint64_t number, bool recursive) FRAY_REQUIRES(mutex_);
  void interrupt(ActorCall& call) FRAY_REQUIRES(mutex_);
  void cancel_started() FRAY_REQUIRES(mutex_);  // releases the mutex meanwhile
  ActorCall* find_running(std::uint64_t id, std::uint64_t number) FRAY_REQUIRES(mutex_);
  void drop(std::uint64_t id) FRAY_REQUIRES(mutex_);
  void look_for_rest();
  void check_descriptors() FRAY_REQUIRES(mutex_);

  client::Client& client_;
  Page& page_;
  const std::string actor_name_;
  Mode mode_ = Mode::kSerial;

  Mutex mutex_;
  Condition calls_changed_;
  Condition items_taken_;
  os::Fd epoll_;
  os::Fd wake_;
  CallerSockets callers_ FRAY_GUARDED_BY(mutex_);
  std::deque<Frame> inbox_ FRAY_GUARDED_BY(mutex_);
  std::list<ActorCall> running_ FRAY_GUARDED_BY(mutex_);
  bool reader_busy_ FRAY_GUARDED_BY(mutex_) = false;
  int sleepers_ FRAY_GUARDED_BY(mutex_) = 0;
  bool stop_ FRAY_GUARDED_BY(mutex_) = false;
  bool newly_cancelled_ FRAY_GUARDED_BY(mutex_) = false;  // a call was that take_cancelled() has not returned
  bool cancels_started_ FRAY_GUARDED_BY(mutex_) = false;  // a running call has this set
  std::uint64_t begun_ FRAY_GUARDED_BY(mutex_) = 0;       // calls taken so far
  BeginRate begin_rate_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t last_duration_ns_ FRAY_GUARDED_BY(mutex_) = kShortNs;  // of the call that ended last
  std::uint64_t patience_ns_ FRAY_GUARDED_BY(mutex_) =
      kSlowNs;            // with the call that began last; 0: it is taken as slow
  SlowWatch slow_watch_;  // changed with mutex_ held
  os::CrowdedCpu crowd_;  // of the one thread that spins; where several threads run calls, none of them spins
  std::uint32_t taken_ FRAY_GUARDED_BY(mutex_) = 0;  // calls that were taken since a thread last looked for more
};

}  // namespace fray::worker
