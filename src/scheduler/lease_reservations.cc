// What the LeaseTable knows of reservations: they are demands that need no worker, and the leases of those.
#include <algorithm>

#include "model/reservation.h"
#include "scheduler/lease_table.h"

namespace fray::scheduler {

namespace {

bool share_names(const ResourceSet& a, const ResourceSet& b) {
  return std::any_of(a.units().begin(), a.units().end(),
                     [&](const auto& each) { return b.units().contains(each.first); });
}

}  // namespace

void LeaseTable::set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources, const ResourceSet& offered) {
  if (home == 0 || resources.empty() || !reservations_.emplace(home, Reservation{offered, 0}).second) {
    return contradict();
  }
  client_joined(home, parent);
  changed_ = true;
  ledger_.announce(offered);
  demands_.change(home, {.count = 1, .shape = {.resources = resources}, .dedicated = true, .needs_no_worker = true});
}

void LeaseTable::grant_reservation(const Demand& demand) {
  const ProcessId home = demand.client;
  const ResourceSet resources = demand.wanted.shape.resources;
  Reservation& reservation = reservations_.at(home);
  reservation.lease = ledger_.grant({.client = home, .shape = demand.wanted.shape, .dedicated = true});
  devices_.take(home, resources, true);
  ledger_.put_back(reservation.offered);
  demands_.granted(home, 0);
}

void LeaseTable::put_back(ProcessId home) {
  auto found = reservations_.find(home);
  if (found == reservations_.end()) return contradict();
  changed_ = true;
  const auto [offered, lease] = found->second;
  reservations_.erase(found);
  for (const auto& [id, held] : ledger_.leases()) {
    if (held.worker != 0 && share_names(held.shape.resources, offered)) stop(held.worker, true);
  }
  for (Demand* demand : demands_.all()) {
    if (!demand->reported && share_names(demand->wanted.shape.resources, offered)) refuse_unreserved(*demand);
  }
  // What work of it still holds comes back when that has ended, and makes up for what is missing until then.
  if (lease != 0) ledger_.set_aside(offered);
  ledger_.withdraw(offered);
  ledger_.end(lease);
  devices_.left(home);
  demands_.drop_client(home);
  ledger_.forget_tree(home);
  clients_.erase(home);
}

bool LeaseTable::is_reserved(ProcessId home) const {
  auto found = reservations_.find(home);
  return found != reservations_.end() && found->second.lease != 0;
}

void LeaseTable::refuse_unreserved(Demand& demand) {
  demand.reported = true;
  commands_.emplace_back(RefuseDemand{.client = demand.client,
                                      .demand = demand.wanted.demand,
                                      .reason = "the reservation that it asks for has ended",
                                      .code = StatusCode::kReservationEnded});
}

}  // namespace fray::scheduler
