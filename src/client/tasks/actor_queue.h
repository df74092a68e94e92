// ActorQueue: the calls that this process has made of one actor and has not sent yet, and the connection to the actor.
//
//            call          ActorConnected
//   kIdle ─────────▶ kAsked ────────────▶ kConnected ─┐ ActorLost, another incarnation comes
//                      ▲                              │
//                      └──────────────────────────────┘      from any: ActorLost, dead ──▶ kDead
//
// Threading:  guarded by Client's mutex.
// Ownership:  ActorTable owns it, from the first call until the last handle in this process goes. It holds a count of
//             the actor's object while calls are unfinished, so that the actor does not end for want of handles during
//             them.
// Failure:    `death` says why an actor is dead; every later call fails with it.
#pragma once

#include <deque>
#include <memory>

#include "client/leases/lease.h"
#include "client/tasks/task.h"
#include "wire/actor.h"

namespace fray::client {

struct TaskSender;

struct ActorQueue {
  enum class State : std::uint8_t { kIdle, kAsked, kConnected, kDead };

  TaskSender* sender = nullptr;
  Object* object = nullptr;
  State state = State::kIdle;
  std::deque<Task*> ready;            // waiting for arguments, or ready to be sent; in the order of submission
  std::unique_ptr<Lease> connection;  // kConnected; it outlives a broken socket until the node says what happened
  std::uint32_t times_without_descriptors = 0;  // connections in a row that could not be used
  std::size_t unfinished = 0;                   // calls without an answer, sent or not
  wire::ActorDeath death;                       // kDead
};

}  // namespace fray::client
