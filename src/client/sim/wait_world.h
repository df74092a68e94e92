// WaitWorld: a simulation of several waiting threads and a backup thread, and of all events that WaitKernel must
// notice.
//
// Threads submit calls and wait for their results, with and without deadlines. Answers arrive on the sockets of the
// node, of workers and of actors; no thread watches the sockets of idle workers and actors. Some results arise without
// any socket. Signals reach the main thread, lines are held until they are due, the duty of a worker begins and ends,
// waits are refused, and the client is closed early or late. The seed decides the order of all this
// (client/sim/wait_world_schedule.h).
//
// Whenever all threads sleep, and before the clock moves on, the simulation checks that no thread sleeps whose result
// is there, whose wait was refused or whose client is closed; that no frame stays unread for longer than a tick; that
// no follower is without a leader; that no deadline, moment, held line or turn of the backup thread has passed
// unnoticed; and that a signal is handled within the time that the kernel names. After each wait it checks that the
// outcome is true, and that everything that was set up for the sleep has been undone.
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
