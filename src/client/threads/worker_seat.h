// WorkerSeat: the place of a worker's duty in its client, which keeps what the node sends for the duty until there is
// one.
//
//   seat.lease_arrived(id, message, fd);    // kept until a duty takes the seat
//   seat.set_duty(&task_loop);
//
// Threading:  under the client's mutex. set_duty() waits for the end of a look(), which releases the mutex: when it
//             returns, the duty that was set before is not called any more.
// Ownership:  owns what has arrived while there was no duty; borrows the duty.
// Failure:    none.
#pragma once

#include <optional>
#include <vector>

#include "client/threads/client_mutex.h"
#include "client/threads/worker_duty.h"
#include "wire/lease.h"

namespace fray::client {

class WorkerSeat {
 public:
  explicit WorkerSeat(ClientMutex& mutex) : mutex_(mutex) {}

  bool is_taken() const FRAY_REQUIRES(client_mutex) { return duty_ != nullptr; }
  WorkerDuty* duty() FRAY_REQUIRES(client_mutex) { return duty_; }  // null: there is none
  // Releases the mutex while it waits for a look of the duty that was set before.
  void set_duty(WorkerDuty* duty, ClientLock& lock) FRAY_REQUIRES(client_mutex);
  // Called by the backup thread. Releases the mutex during the look.
  DutyPlan look() FRAY_REQUIRES(client_mutex);
  // Places for calls that the process runs at once.
  std::uint32_t places() const FRAY_REQUIRES(client_mutex) { return places_; }
  void set_places(std::uint32_t places) FRAY_REQUIRES(client_mutex) { places_ = places; }

  void lease_arrived(LeaseId lease, const wire::Lease& message, os::Fd fd) FRAY_REQUIRES(client_mutex);
  void devices_bound(wire::BindDevices binding) FRAY_REQUIRES(client_mutex);
  void actor_arrived(wire::HostActor actor) FRAY_REQUIRES(client_mutex);
  void abandon() FRAY_UNCHECKED_LOCKING;  // in a child of fork()

 private:
  struct EarlyLease {
    LeaseId lease = 0;
    ProcessId client = 0;
    double cpus = 0;
    os::Fd fd;
  };
  void deliver() FRAY_REQUIRES(client_mutex);

  ClientMutex& mutex_;
  std::vector<EarlyLease> early_leases_ FRAY_GUARDED_BY(client_mutex);  // that came before the duty was set
  std::optional<wire::HostActor> early_actor_ FRAY_GUARDED_BY(client_mutex);
  std::optional<wire::BindDevices> early_devices_ FRAY_GUARDED_BY(client_mutex);
  WorkerDuty* duty_ FRAY_GUARDED_BY(client_mutex) = nullptr;
  std::uint32_t places_ FRAY_GUARDED_BY(client_mutex) = 1;
  bool busy_ FRAY_GUARDED_BY(client_mutex) = false;  // the duty is in look(), without the mutex
  ClientCondition left_;
};

}  // namespace fray::client
