// ActorLoop: the actor's side of its callers' sockets: gives out calls in the order of arrival, and sends their
// answers.
//
//   ActorLoop loop(client, page, "Counter");
//   while (ActorCall* call = loop.next(true, hooks)) { run it; loop.answer(call, outcome); }
//
// Any number of threads may run this `while`. A thread that finds no call reads the sockets for all (the leader), and
// the others sleep until it has read one. An event loop calls next(false) instead, whenever event_fd() is readable.
//
// Threading:  next(), answer() and send_item() from any thread; the client's backup thread calls look(). `mutex_` guards
//             everything; the client is never called with it held, for the client's own mutex comes first.
// Ownership:  owns the callers' sockets and the calls that were handed out, each until its answer.
// Failure:    calls of a caller that is gone are dropped; the answers of those that run are not sent. When the node is
//             gone next() returns null, and the process exits if a call is running, because nobody is left to answer
//             to. It also exits when a call has closed its descriptors.
#pragma once

#include <deque>
#include <list>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/client.h"
#include "model/worker_page.h"
#include "wire/direct.h"
#include "worker/caller_sockets.h"
#include "worker/task_loop.h"

namespace fray::worker {

// A call that was handed out. `task` looks into `body`.
struct ActorCall {
  std::uint64_t caller = 0;
  std::string body;
  TaskView task;
  std::uint64_t started_ns = 0;
  std::uint64_t untaken_bytes = 0;  // items of a generator method
  bool no_item_limit = false;
  bool cancelled = false;
  bool cancels_started = false;          // what it has started is to be cancelled, too
  std::uint64_t ordinal = 0;             // of the calls of this process; never given twice
  bool told = false;                     // take_cancelled() has named it
  std::list<ActorCall>::iterator place;  // among those that run
};

class ActorLoop : public client::WorkerDuty {
 public:
  // One thread, which runs one call at a time; several of them; or an event loop, whose sockets are read by it alone.
  enum class Mode : std::uint8_t { kSerial, kThreads, kEventLoop };
  friend constexpr Mode last_of(Mode) { return Mode::kEventLoop; }

  // `actor_name` stands before the method's name where people read it.
  ActorLoop(client::Client& client, Page& page, std::string actor_name);
  ~ActorLoop() override;

  // Before the first call.
  void set_mode(Mode mode) { mode_ = mode; }

  // The next call, or null: none is there (not `wait`), the wait was interrupted, or the loop has ended.
  ActorCall* next(bool wait, client::WaitHooks& hooks);
  // The next call of those that were read; null without a look at the sockets.
  ActorCall* next_read();
  // For an event loop that has nothing to do: looks for calls a moment before it sleeps. Whether some have come.
  bool spin();
  void answer(ActorCall* call, Outcome& outcome);
  // Sends what answers wait to be sent.
  void flush();
  bool has_ended();
  bool has_calls();  // that were read and not taken
  const std::string& actor_name() const { return actor_name_; }
  void read();  // what is there, without taking a call

  // One item of a generator method. With `wait`, returns when more may be sent; false: stop producing.
  bool send_item(ActorCall* call, std::uint32_t index, std::string_view value, std::uint64_t value_bytes, bool wait,
                 client::WaitHooks& hooks);
  bool may_send(ActorCall* call);
  bool is_cancelled(ActorCall* call);
  // Running calls that were cancelled since the last time.
  std::vector<ActorCall*> take_cancelled();

  // WorkerDuty.
  void lease_arrived(LeaseId lease, ProcessId client, double cpus, os::Fd fd) override;
  void actor_arrived(wire::HostActor) override {}
  void devices_bound(const wire::BindDevices&) override {}  // they were, before the actor arrived
  void node_gone() override;
  client::DutyPlan look() override;
  int watch_fd() override { return slow_watch_.fd(); }
  void blocked() override;
  void unblocked() override;
  bool flush_answers() override;
  void wake() override;
  void abandon() FRAY_UNCHECKED_LOCKING override;  // a forked child has one thread

  // Readable when next(false) may have something.
  int event_fd() const { return epoll_.get(); }

 private:
  using Caller = CallerSockets::Caller;
  struct Frame {
    std::uint64_t caller = 0;
    std::uint64_t number = 0;
    std::string body;
  };

  ActorCall* take() FRAY_REQUIRES(mutex_);
  void read_ready(int timeout_ms) FRAY_REQUIRES(mutex_);  // lets go of the mutex while it waits
  void read(std::uint64_t id) FRAY_REQUIRES(mutex_);
  void sort_frame(std::uint64_t id, wire::FrameSocket& socket, wire::Incoming& incoming) FRAY_REQUIRES(mutex_);
  void cancel(std::uint64_t id, std::uint64_t number, bool recursive) FRAY_REQUIRES(mutex_);
  void cancel_started() FRAY_REQUIRES(mutex_);  // lets go of the mutex meanwhile
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
  bool newly_cancelled_ FRAY_GUARDED_BY(mutex_) = false;  // a call that take_cancelled() has not named
  bool cancels_started_ FRAY_GUARDED_BY(mutex_) = false;  // what a call has started is to be cancelled
  std::uint64_t begun_ FRAY_GUARDED_BY(mutex_) = 0;       // calls taken so far
  BeginRate begin_rate_ FRAY_GUARDED_BY(mutex_);
  SlowWatch slow_watch_;  // changed with mutex_
};

}  // namespace fray::worker
