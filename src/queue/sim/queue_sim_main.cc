// queue_sim: the QueueTable under seeded schedules with faults. See queue/sim/queue_world.h.
//
// Built with a copy of queue/*.cc in which the bugs of planted_bugs.txt are; FRAY_BUG=<name> switches one on.
#include "base/sim/simulation.h"
#include "queue/sim/queue_world.h"

int main(int argc, char** argv) {
  return fray::run_simulation(argc, argv, "queue", [](std::uint64_t seed, fray::SimulationLog& log) {
    if (log.possible.empty()) fray::queue::QueueWorld::list_possible(log);
    fray::queue::QueueWorld(seed, log).run();
  });
}
