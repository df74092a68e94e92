// CallWaits: tells the node what the calls that run in this process wait for. The node looks for circles of such waits,
// which can never end (actor/wait_graph.h, docs/decisions/0013-waits.md).
//
// Three kinds of waits are told: that of a thread of a call, once it has lasted for some time (UserWait); that of a
// call in an event loop, when the call says so (say_loop_wait); and that of a *resting* call, whose own thread does not
// wait in Fray but joins a thread that does (resting_calls.cc).
//
// Threading:  functions that are declared so need the client's mutex; the others take it.
// Ownership:  a wait of an event loop holds counts of the objects that it waits for; that of a thread belongs to the
//             thread.
// Failure:    a wait of which nothing certain can be said is not told. It then lasts until it ends by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/objects/object_table.h"
#include "client/session/node_connection.h"
#include "client/threads/worker_seat.h"
#include "client/waits/completion_queue.h"
#include "client/waits/side_waits.h"
#include "model/call_wait.h"

namespace fray::client {

class CallWaits {
 public:
  // A wait that the node has been told of, or will be told of.
  struct KnownWait {
    RunningCall call;
    Awaited awaited;
    std::uint64_t number = 0;  // 0: the node does not know it
    bool refused = false;
    std::string why;               // refused
    std::vector<Object*> of_loop;  // what `awaited` looks at, for a call of an event loop; counted
    std::string name;              // what `call` looks at, likewise
  };
  // A thread that sleeps until refs are ready, and that nothing else wakes.
  struct Sleeper {
    pid_t thread = 0;
    RunningCall call;
    Awaited awaited;
    bool refused = false;
    std::string why;         // refused
    bool runs_loop = false;  // of an actor's calls: none of them goes on meanwhile
  };

  CallWaits(ClientMutex& mutex, NodeConnection& connection, ReadingKernel& kernel, ObjectTable& objects,
            WorkerSeat& seat, SideWaits& side_waits)
      : mutex_(mutex),
        connection_(connection),
        kernel_(kernel),
        objects_(objects),
        seat_(seat),
        side_waits_(side_waits) {}

  // ---- Threads ----
  // Tells the node of the wait. False: nothing certain can be said of the wait now.
  bool tell(KnownWait& known) FRAY_REQUIRES(client_mutex);
  void untell(KnownWait& known) FRAY_REQUIRES(client_mutex);
  void sleeps(Sleeper& sleeper) FRAY_REQUIRES(client_mutex);
  void woke(Sleeper& sleeper) FRAY_REQUIRES(client_mutex);

  // ---- Event loops ----
  // A call that runs in an event loop waits for one of these, and for nothing else: no timer, no other event ends its wait.
  // The number of the wait, by which it is said again and forgotten; 0: nothing certain can be said now.
  std::uint64_t say_call_waits(std::uint64_t known, const RunningCall& call, std::vector<Object*> objects);
  void forget_call_wait(std::uint64_t wait);
  // The waits that were refused since this was called last because they can never end, with the reason.
  std::vector<std::pair<std::uint64_t, std::string>> take_refused_waits();
  // A coroutine waits for `object`, of which `queue` tells its event loop. The number of the wait; 0: the wait is not to be told.
  std::uint64_t begin_side_wait(Object* object, CompletionQueue* queue);
  // The reason why the wait could never end; empty: it could.
  std::string end_side_wait(std::uint64_t wait);
  // Queues that event loops read.
  void add_loop(CompletionQueue* queue);
  bool is_loop(CompletionQueue* queue) const FRAY_REQUIRES(client_mutex) { return loops_.contains(queue); }
  // How many objects the event loops of this process wait for. No thread reads the sockets for them.
  std::size_t awaited_by_loops() const FRAY_REQUIRES(client_mutex) {
    std::size_t sum = 0;
    for (const CompletionQueue* queue : loops_) sum += queue->awaited();
    return sum;
  }
  void forget_loop(CompletionQueue* queue);

  // ---- Calls that rest (resting_calls.cc) ----
  // Tells the node of those calls that can only go on when one of the waits of this process ends. Called by the backup
  // thread when it is time to look at all threads again.
  bool is_time_to_look() const;
  void look_for_resting(std::span<const RunningCall> calls);
  // Does the same for the calls of an event loop that its own thread blocks: a get() in an async method keeps the loop from
  // running any call, those that come included.
  void look_for_blocked_loop(std::span<const RunningCall> calls);
  // When it is time for that; nothing: no call of this process can be resting.
  std::optional<Clock::time_point> next_look() const FRAY_REQUIRES(client_mutex);

  // ---- From the node ----
  // To be called after the sockets were read: an answer that has arrived already may end a wait.
  void tell_all_again(std::uint64_t probe) FRAY_REQUIRES(client_mutex);
  void refused(std::uint64_t wait, std::string why) FRAY_REQUIRES(client_mutex);

 private:
  // A coroutine that waits for a ref.
  struct LoopSleeper {
    std::uint64_t task = 0;    // during which it began
    Object* object = nullptr;  // counted
    CompletionQueue* queue = nullptr;
    std::string why;  // refused
  };

  bool describe(const KnownWait& known, CallWait* wait) const FRAY_REQUIRES(client_mutex);
  bool add_awaited(const Object* object, bool all, int depth, CallWait* wait) const FRAY_REQUIRES(client_mutex);
  void drop_loop_wait(std::uint64_t number) FRAY_REQUIRES(client_mutex);
  KnownWait* say_loop_wait(const RunningCall& call, std::vector<Object*> objects) FRAY_REQUIRES(client_mutex);
  // The wait of the thread that runs the event loop of an actor's calls; null: it is not in one.
  Sleeper* blocked_loop() const FRAY_REQUIRES(client_mutex);
  // Sets the clock for the next look. False: waits have begun or ended just now, and are left alone for a moment.
  bool begin_look() FRAY_REQUIRES(client_mutex);
  static void add_pending(const Awaited& awaited, std::vector<Object*>* objects);
  std::vector<Object*> awaited_by_all() const FRAY_REQUIRES(client_mutex);
  bool may_rest() const FRAY_REQUIRES(client_mutex) {
    const bool calls_may_rest = side_waits_.count().lasting > 0 || seat_.places() > 1 || blocked_loop() != nullptr;
    return seat_.is_taken() && resting_.empty() && calls_may_rest && !(sleepers_.empty() && loop_sleepers_.empty());
  }
  void changed() FRAY_REQUIRES(client_mutex);  // what was found out about resting calls holds no longer
  bool refuse_resting(std::uint64_t wait, std::string& why) FRAY_REQUIRES(client_mutex);
  void refuse(Sleeper& sleeper, std::string& why) FRAY_REQUIRES(client_mutex);

  ClientMutex& mutex_;
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  WorkerSeat& seat_ FRAY_GUARDED_BY(client_mutex);
  SideWaits& side_waits_ FRAY_GUARDED_BY(client_mutex);
  std::vector<KnownWait*> known_waits_ FRAY_GUARDED_BY(client_mutex);  // to the node
  std::uint64_t wait_numbers_ FRAY_GUARDED_BY(client_mutex) = 0;
  std::vector<std::unique_ptr<KnownWait>> loop_waits_ FRAY_GUARDED_BY(client_mutex);
  std::vector<Sleeper*> sleepers_ FRAY_GUARDED_BY(client_mutex);  // the one that began last is the last
  std::map<std::uint64_t, LoopSleeper> loop_sleepers_ FRAY_GUARDED_BY(client_mutex);
  std::set<CompletionQueue*> loops_ FRAY_GUARDED_BY(client_mutex);
  std::vector<std::uint64_t> resting_ FRAY_GUARDED_BY(client_mutex);  // in loop_waits_; look_for_resting() told them
  std::uint64_t changes_ FRAY_GUARDED_BY(client_mutex) = 0;
  Clock::time_point look_at_ FRAY_GUARDED_BY(client_mutex);
  Clock::duration look_again_ FRAY_GUARDED_BY(client_mutex){};
};

}  // namespace fray::client
