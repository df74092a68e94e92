// actor_sim: the ActorTable under seeded schedules with faults. See actor/sim/actor_world.h.
//
// Built with a copy of actor/*.cc in which the bugs of planted_bugs.txt are; FRAY_BUG=<name> switches one on.
#include "actor/sim/actor_audit.h"
#include "actor/sim/actor_world.h"
#include "base/sim/simulation.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "actor", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::actor::AuditedActorTable::list_possible(log);
    fray::actor::ActorWorld(seed, log).run();
  });
}
