// ObjectWaits: waits for objects, for items of generators, and for queues that tell which objects became ready.
//
// Threading:  any thread; takes the client's mutex itself. A wait releases the mutex while it sleeps
//             (client/threads/wait_kernel.h).
// Ownership:  items that are handed out carry a count; queues are the caller's.
// Failure:    see WaitResult: the deadline, an interrupt, a closed client, and waits that can never end.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "client/objects/object_table.h"
#include "client/session/node_connection.h"
#include "client/tasks/task_ledger.h"
#include "client/threads/worker_seat.h"
#include "client/waits/call_waits.h"
#include "client/waits/completion_queue.h"
#include "client/waits/side_waits.h"

namespace fray::client {

class ObjectWaits {
 public:
  using Deadline = std::optional<Clock::time_point>;

  ObjectWaits(ClientMutex& mutex, NodeConnection& connection, ReadingKernel& kernel, ObjectTable& objects,
              TaskLedger& ledger, WorkerSeat& seat, SideWaits& side_waits, CallWaits& call_waits)
      : mutex_(mutex),
        connection_(connection),
        kernel_(kernel),
        objects_(objects),
        ledger_(ledger),
        seat_(seat),
        side_waits_(side_waits),
        call_waits_(call_waits) {}

  // Waits until `needed` of `objects` are ready.
  WaitResult wait(std::span<Object* const> objects, std::size_t needed, Deadline deadline, WaitHooks& hooks);
  // Waits for the next item of a generator task. At the end it is kDone, and `*item` is null.
  WaitResult next_item(Object* stream, Object** item, Deadline deadline, WaitHooks& hooks);
  // The same without a wait. False: the next item is not there yet.
  bool take_item(Object* stream, Object** item);
  // Waits for the end of a generator task, and gives the items that were not taken, with counts. They stay in the
  // stream.
  WaitResult all_items(Object* stream, std::vector<Object*>* items, Deadline deadline, WaitHooks& hooks);
  void lift_item_limit(Object* stream);
  // `queue` is told when `object` is ready, at once if it is. If no event loop reads the queue, frames that are buffered
  // behind running tasks stay so until a thread waits for it; so many objects can be listened to at little cost.
  void listen(Object* object, CompletionQueue* queue);
  // Waits until something has arrived in `queue`.
  WaitResult wait_completed(CompletionQueue* queue, Deadline deadline, WaitHooks& hooks);
  void forget_listener(CompletionQueue* queue, std::span<Object* const> objects);
  std::vector<Object*> take_completed(CompletionQueue* queue);

 private:
  // `condition` is asked under the mutex, more than once: it must only look.
  WaitResult wait_until(FunctionRef<bool()> condition, Deadline deadline, WaitHooks& hooks,
                        const Awaited* awaited = nullptr);

  ClientMutex& mutex_;
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  TaskLedger& ledger_ FRAY_GUARDED_BY(client_mutex);
  WorkerSeat& seat_;
  SideWaits& side_waits_;
  CallWaits& call_waits_;
};

}  // namespace fray::client
