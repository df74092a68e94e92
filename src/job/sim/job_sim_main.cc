// job_sim: the JobTable under seeded schedules with faults. See job/sim/job_world.h.
//
// Built with -DFRAY_MUTANTS together with its own copy of job/*.cc; FRAY_MUTANT=20..24 plants a bug.
#include "base/sim/simulation.h"
#include "job/sim/job_world.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "job", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::job::JobWorld::list_possible(log);
    fray::job::JobWorld(seed, log).run();
  });
}
