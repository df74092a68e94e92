// wait_sim: the WaitKernel under seeded schedules of its threads. See client/sim/wait_world.h. FRAY_BUG names a bug of
// planted_bugs.txt.
#include "base/sim/simulation.h"
#include "client/sim/wait_world.h"

int main(int argc, char** argv) { return fray::run_simulation(argc, argv, "wait", fray::client::run_wait_world); }
