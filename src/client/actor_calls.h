// ActorCalls: makes, finds, calls and ends actors, and says what the node has to know of this process if it is an
// actor.
//
// Threading:  any thread; takes the client's mutex itself.
// Ownership:  a found actor is an object with a count for the caller.
// Failure:    kUnavailable when the node is gone or does not answer, kAlreadyExists for a taken name,
//             kResourceExhausted for too many calls without an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/submission.h"

namespace fray::client {

struct ActorRequest;

// A handle's object, counted for the caller. `description` is that of its creator; empty when this is the creator.
struct FoundActor {
  Object* object = nullptr;
  std::string description;
};

class ActorCalls {
 public:
  ActorCalls(ClientMutex& mutex, NodeConnection& connection, ReadingKernel& kernel, ObjectTable& objects,
             ActorTable& actors, WorkerSeat& seat, Reading& reading, Objects& refs, Submission& submission)
      : mutex_(mutex),
        connection_(connection),
        kernel_(kernel),
        objects_(objects),
        actors_(actors),
        seat_(seat),
        reading_(reading),
        refs_(refs),
        submission_(submission) {}

  // Waits for the node only when the actor has a name. kAlreadyExists: the name is taken.
  Result<FoundActor> create_actor(ActorRequest request, WaitHooks& hooks);
  // kResourceExhausted when `most_pending` calls (-1: no limit) of this process have no answer.
  Result<std::vector<Object*>> call_actor(Object* actor, Call call, std::int64_t most_pending);
  Result<FoundActor> find_actor(const wire::FindActor& wanted, WaitHooks& hooks);
  // The named actors of every namespace.
  Result<wire::ActorNames> list_actors(WaitHooks& hooks);
  // Returns when the node has ended the actor: calls that this process makes later fail.
  Status kill_actor(Object* actor, bool no_restart, WaitHooks& hooks);
  bool is_actor_call(const Object* object) const;
  // `places`: how many calls the actor runs at once.
  void become_actor(ActorId self, std::uint32_t places);
  void say_actor_failed(const wire::ActorFailure& failure);

 private:
  void withdraw(Object* actor);
  NodeConnection::Unwanted let_go_of_actor();

  ClientMutex& mutex_;
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  ActorTable& actors_ FRAY_GUARDED_BY(client_mutex);
  WorkerSeat& seat_ FRAY_GUARDED_BY(client_mutex);
  Reading& reading_ FRAY_GUARDED_BY(client_mutex);
  Objects& refs_;
  Submission& submission_;
};

}  // namespace fray::client
