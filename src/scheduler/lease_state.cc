#include "scheduler/lease_state.h"

namespace fray::scheduler {

void LeaseState::join(ProcessId client, ProcessId parent) {
  if (client == 0 || !clients.insert(client).second) return contradict();
  if (parent != 0) ledger.place_below(client, parent);
}

void LeaseState::stop(ProcessId worker, bool kill) {
  workers.doom(worker, kill);
  commands.emplace_back(StopWorker{.worker = worker, .kill = kill});
}

void LeaseState::refuse(Demand& demand, StatusCode code, std::string reason) {
  demand.reported = true;
  commands.emplace_back(
      RefuseDemand{.client = demand.client, .demand = demand.wanted.demand, .reason = std::move(reason), .code = code});
}

std::int64_t LeaseState::places() const {
  return static_cast<std::int64_t>(limits.max_workers) - static_cast<std::int64_t>(workers.leased()) -
         static_cast<std::int64_t>(served.size());
}

bool LeaseState::works_as_client(ProcessId worker) const {
  auto group = ledger.groups().lower_bound({worker, 0});
  return demands.waits(worker) || (group != ledger.groups().end() && group->first.first == worker);
}

}  // namespace fray::scheduler
