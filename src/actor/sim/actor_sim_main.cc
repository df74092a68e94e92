// actor_sim: the ActorTable under seeded schedules with faults. See actor/sim/actor_world.h.
//
// Built with -DFRAY_MUTANTS together with its own copy of actor/*.cc; FRAY_MUTANT=13..19 plants a bug.
#include "actor/sim/actor_audit.h"
#include "actor/sim/actor_world.h"
#include "base/sim/simulation.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "actor", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::actor::AuditedActorTable::list_possible(log);
    fray::actor::ActorWorld(seed, log).run();
  });
}
