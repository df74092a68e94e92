// Reservations: resources that are set aside together, each in the name of a home (model/reservation.h).
//
// A reservation is a dedicated lease without a worker. It is served in turn, as an actor is; from then on what it offers
// is free, and is there to be asked for from the beginning. When it ends, what waits for something of it is refused, and
// what holds something of it is killed.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  owns its records; the state must outlive it.
// Failure:    a home that begins twice, begins for nothing or ends unknown contradicts the state.
#pragma once

#include <map>

#include "scheduler/lease_state.h"

namespace fray::scheduler {

class Reservations {
 public:
  explicit Reservations(LeaseState& state) : state_(state) {}

  void set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources, const ResourceSet& offered);
  void put_back(ProcessId home);
  bool is_reserved(ProcessId home) const;

  // The demand of a home is served.
  void grant(const Demand& demand);
  // Refuses a demand for something of a reservation that has ended.
  void check(Demand& demand);

 private:
  void refuse(Demand& demand);

  struct Reservation {
    ResourceSet offered;
    LeaseId lease = 0;  // 0: it waits
  };

  LeaseState& state_;
  std::map<ProcessId, Reservation> reservations_;  // by home
};

}  // namespace fray::scheduler
