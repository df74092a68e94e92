#include "scheduler/reservations.h"

#include <algorithm>

#include "model/reservation.h"

namespace fray::scheduler {

namespace {

bool share_names(const ResourceSet& a, const ResourceSet& b) {
  return std::any_of(a.units().begin(), a.units().end(),
                     [&](const auto& each) { return b.units().contains(each.first); });
}

}  // namespace

void Reservations::set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources,
                             const ResourceSet& offered) {
  if (home == 0 || resources.empty() || !reservations_.emplace(home, Reservation{offered, 0}).second) {
    return state_.contradict();
  }
  state_.join(home, parent);
  state_.changed = true;
  state_.ledger.announce(offered);
  state_.demands.change(home,
                        {.count = 1, .shape = {.resources = resources}, .dedicated = true, .needs_no_worker = true});
}

void Reservations::grant(const Demand& demand) {
  const ProcessId home = demand.client;
  Reservation& reservation = reservations_.at(home);
  reservation.lease = state_.ledger.grant({.client = home, .shape = demand.wanted.shape, .dedicated = true});
  state_.devices.take(home, demand.asked(), true);
  state_.devices.offer(home, reservation.offered);
  state_.ledger.put_back(reservation.offered);
  state_.demands.granted(home, 0);
}

void Reservations::put_back(ProcessId home) {
  auto found = reservations_.find(home);
  if (found == reservations_.end()) return state_.contradict();
  state_.changed = true;
  const auto [offered, lease] = found->second;
  reservations_.erase(found);
  for (const auto& [id, held] : state_.ledger.leases()) {
    if (held.worker != 0 && share_names(held.shape.resources, offered)) state_.stop(held.worker, true);
  }
  for (Demand* demand : state_.demands.all()) {
    if (!demand->reported && share_names(demand->asked(), offered)) refuse(*demand);
  }
  // What work of it still holds comes back when that has ended, and makes up for what is missing until then.
  if (lease != 0) state_.ledger.set_aside(offered);
  state_.ledger.withdraw(offered);
  state_.ledger.end(lease);
  state_.devices.withdraw(offered);
  state_.devices.left(home);
  state_.demands.drop_client(home);
  state_.ledger.forget_tree(home);
  state_.clients.erase(home);
}

bool Reservations::is_reserved(ProcessId home) const {
  auto found = reservations_.find(home);
  return found != reservations_.end() && found->second.lease != 0;
}

void Reservations::check(Demand& demand) {
  if (!state_.ledger.total().covers(part_of_reservations(demand.asked(), true))) refuse(demand);
}

void Reservations::refuse(Demand& demand) {
  state_.refuse(demand, StatusCode::kReservationEnded, "the reservation that it asks for has ended");
}

}  // namespace fray::scheduler
