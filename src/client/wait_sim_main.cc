// wait_sim: the WaitKernel under seeded schedules of its threads. See client/wait_world.h.
//
// Built with -DFRAY_MUTANTS; FRAY_MUTANT=40..59, 68 to 71 plant a bug.
#include "base/simulation.h"
#include "client/wait_world.h"

int main(int argc, char** argv) { return fray::run_simulation(argc, argv, "wait", fray::client::run_wait_world); }
