// lease_sim: the LeaseTable under seeded schedules with faults. See scheduler/sim/lease_world.h.
//
// Built with a copy of scheduler/*.cc in which the bugs of planted_bugs.txt are; FRAY_BUG=<name> switches one on.
#include "base/sim/simulation.h"
#include "scheduler/sim/lease_audit.h"
#include "scheduler/sim/lease_world.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "lease", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::scheduler::AuditedLeaseTable::list_possible(log);
    fray::scheduler::LeaseWorld(seed, log).run();
  });
}
