#include "node/workers/reservation_keeper.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "model/reservation.h"

namespace fray::node {

namespace {

// Nobody else can offer a name of that form, for the names of reservations differ.
bool is_offer_of(const ResourceSet& offered, const std::string& name) {
  return std::all_of(offered.units().begin(), offered.units().end(), [&](const auto& each) {
    const std::string_view resource = each.first;
    const std::size_t mark = resource.find(kReservationMark);
    return mark != resource.npos && resource.substr(mark + 1).starts_with(name);
  });
}

}  // namespace

Status ReservationKeeper::begin(ProcessId client, wire::SetAside message) {
  const bool is_own = is_offer_of(message.offered, message.name);
  const bool is_of_node = part_of_reservations(message.resources, true).empty();
  if (message.resources.empty() || !is_own || !is_of_node || entries_.contains(message.name)) {
    return Status(StatusCode::kInvalidArgument,
                  "a reservation of nothing of the node, of an offer that is not its own, "
                  "or of a name that is taken");
  }
  const ProcessId root = message.detached ? 0 : leases_.root_of(client);
  Entry& entry = entries_[message.name];
  entry = {roster_.new_process(), root, std::move(message.about)};
  leases_.reservations().set_aside(entry.home, root, message.resources, message.offered);
  return Status::ok();
}

void ReservationKeeper::end(const std::string& name) {
  auto found = entries_.find(name);
  if (found == entries_.end()) return;
  leases_.reservations().put_back(found->second.home);
  entries_.erase(found);
}

void ReservationKeeper::client_left(ProcessId client) {
  std::vector<std::string> ended;
  for (const auto& [name, entry] : entries_) {
    if (entry.root == client) ended.push_back(name);
  }
  for (const std::string& name : ended) end(name);
}

}  // namespace fray::node
