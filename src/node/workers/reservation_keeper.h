// ReservationKeeper: the reservations of programs by their names, whose resources the LeaseTable sets aside.
//
// A reservation ends when a client ends it. Unless it is detached, it also ends with the driver at the root of the tree in
// which it was made.
//
// Threading:  the node's loop.
// Ownership:  owns names and texts; roster and leases must outlive it.
// Failure:    a reservation that asks for nothing of the node, offers what is not marked with its name, or has a name that
//             is taken ends the connection: the message contradicts the protocol. To end an unknown
//             reservation does nothing.
#pragma once

#include <map>
#include <string>

#include "node/sessions/roster.h"
#include "node/workers/lease_carrier.h"
#include "wire/reservation.h"

namespace fray::node {

class ReservationKeeper {
 public:
  struct Entry {
    ProcessId home = 0;
    ProcessId root = 0;  // 0: it is detached
    std::string about;
  };

  ReservationKeeper(Roster& roster, LeaseCarrier& leases) : roster_(roster), leases_(leases) {}

  Status begin(ProcessId client, wire::SetAside message);
  void end(const std::string& name);
  void client_left(ProcessId client);

  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  Roster& roster_;
  LeaseCarrier& leases_;
  std::map<std::string, Entry> entries_;  // by name
};

}  // namespace fray::node
