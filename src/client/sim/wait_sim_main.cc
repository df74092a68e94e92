// wait_sim: the WaitKernel under seeded schedules of its threads. See client/sim/wait_world.h.
//
// Built with -DFRAY_MUTANTS; FRAY_MUTANT=40..59 and 68..71 plant a bug.
#include "base/sim/simulation.h"
#include "client/sim/wait_world.h"

int main(int argc, char** argv) { return fray::run_simulation(argc, argv, "wait", fray::client::run_wait_world); }
