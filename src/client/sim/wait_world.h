// WaitWorld: several threads that wait, a backup thread, and everything around them that WaitKernel must not miss.
//
// Threads submit calls and wait for their results, with and without deadlines; answers arrive on the sockets of the node, of
// workers and of actors, whose sockets nobody watches while they are idle; results also come to be without any socket;
// signals land on the main thread; lines are held until they are due; a worker's duty begins and ends; waits are refused;
// the client is closed, early or late. All of it in the order that the seed decides (client/sim/wait_world_schedule.h).
//
// Checked is, whenever all threads sleep and before time goes on: nobody sleeps whose result is there, whose wait was refused
// or whose client is closed; no frame lies unread for longer than a tick; no follower is without a leader; no deadline,
// moment, held line or turn of the backup thread is overslept; a signal is answered within the time that the kernel names.
// After each wait: its outcome is true, and what was done before its sleep was undone.
//
// Threading:  run() is for one thread; see WaitSchedule.
// Ownership:  owns everything.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>

#include "base/sim/simulation.h"

namespace fray::client {

void run_wait_world(std::uint64_t seed, SimulationLog& log);

}  // namespace fray::client
