// job_sim: the JobTable under seeded schedules with faults. See job/sim/job_world.h.
//
// Built with a copy of job/*.cc in which the bugs of planted_bugs.txt are; FRAY_BUG=<name> switches one on.
#include "base/sim/simulation.h"
#include "job/sim/job_world.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "job", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::job::JobWorld::list_possible(log);
    fray::job::JobWorld(seed, log).run();
  });
}
