// WorkerDuty: a worker's own duties towards the client that leased it, or towards those that call the actor that it is.
//
// Threading:  as each function says.
// Ownership:  none; the duty outlives the client's use of it, see WorkerSeat::set_duty().
// Failure:    none.
#pragma once

#include "client/threads/duty_plan.h"
#include "model/ids.h"
#include "os/fd.h"
#include "wire/actor.h"
#include "wire/lease.h"

namespace fray::client {

struct WorkerDuty {
  virtual ~WorkerDuty() = default;
  virtual void lease_arrived(LeaseId lease, ProcessId client, double cpus, os::Fd fd) = 0;
  virtual void actor_arrived(wire::HostActor actor) = 0;  // the worker becomes an actor
  // The devices of this process for the rest of its life. Called before the lease or the actor that they are for
  // arrives.
  virtual void devices_bound(const wire::BindDevices& binding) = 0;
  virtual void node_gone() = 0;
  // Called by the backup thread, without the client's mutex: when it wakes up for any reason, within a millisecond after
  // Client::guard(), when watch_fd() is readable, and when the last plan says so.
  virtual DutyPlan look() = 0;
  virtual int watch_fd() = 0;  // which the backup thread watches in its sleep; always the same. Called with the mutex
  // The thread that runs the worker's tasks waits from now on, or goes on. The second may be called without the first.
  virtual void blocked() = 0;
  virtual void unblocked() = 0;
  // Sends the answers of calls that have ended; false when the sockets have not taken all of them. May be called with the
  // client's mutex held.
  virtual bool flush_answers() = 0;
  virtual void wake() = 0;     // an event loop that runs calls has something to look at; likewise
  virtual void abandon() = 0;  // in a child of fork(): close sockets, touch no lock
};

}  // namespace fray::client
