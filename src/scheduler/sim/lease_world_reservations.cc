// Reservations of the LeaseWorld: made in the name of a driver or of none, and ended at any time. Tasks and actors ask for
// parts of them, also after their end.
#include <utility>

#include "scheduler/sim/lease_world.h"

namespace fray::scheduler {

void LeaseWorld::make_reservation() {
  --reservations_to_come_;
  const std::vector<ProcessId> roots = living_roots();
  const ProcessId home = next_process_++;
  const ProcessId root = crowded_ || random_.percent(70) ? roots[random_.below(roots.size())] : 0;
  const std::int64_t tenths = 5 * (1 + random_.below(4));
  ResourceSet resources = tenths_of("CPU", tenths);
  if (random_.percent(20)) resources.add(tenths_of("GPU", 10));
  if (!table_.table().state().limits.total.covers(resources)) resources = tenths_of("CPU", 5);
  if (crowded_) resources = table_.table().state().limits.total;
  // Work may ask for a part of the whole, or for a part of its first bundle.
  const std::string any = fmt::format("CPU@{}", home);
  const std::string first = any + ".0";
  ResourceSet offered = tenths_of(any, static_cast<std::int64_t>(resources.amount("CPU") * 10));
  offered.add(tenths_of(first, 5));
  ResourceSet of_first = tenths_of(any, 5);
  of_first.add(tenths_of(first, 5));
  shapes_.push_back({tenths_of(any, 5), 0});
  shapes_.push_back({of_first, 0});
  reservations_[home] = root;
  undecided_ = true;
  table_.set_aside(home, root, resources, offered);
  if (random_.percent(5)) table_.set_aside(home, root, resources, offered);
}

void LeaseWorld::end_reservation(ProcessId home) {
  reservations_.erase(home);
  undecided_ = true;
  table_.put_back(home);
  if (random_.percent(20)) table_.put_back(home);
}

void LeaseWorld::end_reservations_of(ProcessId root) {
  for (const auto& [home, its_root] : std::map(reservations_)) {
    if (its_root == root) end_reservation(home);
  }
}

// What a reservation holds it holds until its end, and one that waits may keep what others need.
bool LeaseWorld::end_any_reservation() {
  if (reservations_.empty()) return false;
  end_reservation(std::next(reservations_.begin(), random_.below(reservations_.size()))->first);
  return true;
}

// At rest a reservation that waits alone has its resources, unless they are not there.
void LeaseWorld::check_reservations() const {
  const LeaseState& state = table_.table().state();
  for (const auto& [home, root] : reservations_) {
    if (table_.table().reservations().is_reserved(home) || state.demands.all().size() > 1) continue;
    const ResourceSet& asked = state.demands.first(home)->asked();
    if (state.ledger.free().covers(asked) && state.devices.fits(asked)) {
      throw SimulationViolation(fmt::format("reservation {} waits for what is free", home));
    }
  }
}

}  // namespace fray::scheduler
