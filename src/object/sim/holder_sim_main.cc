// holder_sim: the HolderTable under seeded schedules with faults. See object/sim/holder_world.h.
//
// Built with a copy of object/*.cc in which the bugs of planted_bugs.txt are; FRAY_BUG=<name> switches one on.
#include "base/sim/simulation.h"
#include "object/sim/holder_world.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "holder", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::object::HolderWorld::list_possible(log);
    fray::object::HolderWorld(seed, log).run();
  });
}
