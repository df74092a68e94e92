#include "client/actor_calls.h"

#include <utility>

#include <fmt/format.h>

#include "client/call.h"
#include "wire/create_actor.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kAnswerLimit = 30s;
}  // namespace

Result<FoundActor> ActorCalls::create_actor(ActorRequest request, WaitHooks& hooks) {
  Submission::Unaccepted unaccepted{submission_, request.constructor.task};
  wire::CreateActor message;
  std::uint64_t ticket = 0;
  FoundActor made;
  {
    ClientLock lock(mutex_);
    const TaskOptions& options = request.constructor.options;
    FRAY_RETURN_IF_ERROR(submission_.why_refused(*request.constructor.task, &options.shape.resources, "actor"));
    made.object = new Object;
    made.object->id = objects_.own_id(objects_.take_sequence(1));
    objects_.share(made.object);
    message.actor = made.object->id;
    message.shape = options.shape.at_depth(Submission::depth());
    message.max_restarts = request.max_restarts;
    message.detached = request.detached;
    message.get_if_exists = request.get_if_exists;
    message.event_loop = request.event_loop;
    message.name_space = request.name_space;
    message.name = request.name;
    message.class_name = request.class_name;
    message.description = request.description;
    if (!request.name.empty()) ticket = connection_.reserve_ticket(let_go_of_actor());
    connection_.link().send(wire::ControlType::kCreateActor, ticket, message);
    connection_.link().flush();
  }
  if (ticket != 0) {
    Result<door::Answer> waited = connection_.await_answer(ticket, Clock::now() + kAnswerLimit, hooks);
    auto answer =
        waited.is_ok() ? wire::decode<wire::ActorAnswer>(waited->body) : Result<wire::ActorAnswer>(waited.status());
    Status refused = !answer.is_ok()                   ? answer.status()
                     : answer->code != StatusCode::kOk ? Status(answer->code, answer->message)
                                                       : Status::ok();
    if (!refused.is_ok() || answer->actor != message.actor) {
      if (!waited.is_ok()) withdraw(made.object);  // the actor would never be constructed
      refs_.release(made.object);
      if (!refused.is_ok()) return refused;
      ClientLock lock(mutex_);
      return FoundActor{objects_.adopt(answer->actor), std::move(answer->description)};
    }
  }
  ClientLock lock(mutex_);
  if (!connection_.is_open()) {
    Status closed = connection_.closed();
    lock.unlock();
    refs_.release(made.object);
    return closed;
  }
  Task* task = request.constructor.task.release();
  for (Object* result : submission_.make_results(task, request.constructor.options)) {
    result->references.fetch_sub(1, std::memory_order_acq_rel);  // the result is never read
  }
  actors_.construct(actors_.queue(made.object), task, std::move(request.settings));
  reading_.settle();
  kernel_.changed();
  return made;
}

Result<std::vector<Object*>> ActorCalls::call_actor(Object* actor, Call call, std::int64_t most_pending) {
  Submission::Unaccepted unaccepted{submission_, call.task};
  ClientLock lock(mutex_);
  ActorQueue* queue = actors_.queue(actor);
  Status refused = submission_.why_refused(*call.task, nullptr, "call");
  if (refused.is_ok() && most_pending >= 0 && queue->unfinished >= static_cast<std::size_t>(most_pending)) {
    refused = Status(StatusCode::kResourceExhausted,
                     fmt::format("{} calls of this actor have no answer yet, the limit that its max_pending_calls sets",
                                 queue->unfinished));
  }
  FRAY_RETURN_IF_ERROR(std::move(refused));
  Task* task = call.task.release();
  std::vector<Object*> results = submission_.make_results(task, call.options);
  actors_.call(queue, task);
  reading_.settle();
  kernel_.changed();
  return results;
}

Result<FoundActor> ActorCalls::find_actor(const wire::FindActor& wanted, WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!connection_.is_open()) return connection_.closed();
    ticket = connection_.ask(wire::ControlType::kFindActor, wanted, let_go_of_actor());
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer found, connection_.await_answer(ticket, Clock::now() + kAnswerLimit, hooks));
  FRAY_ASSIGN_OR_RETURN(wire::ActorAnswer answer, wire::decode<wire::ActorAnswer>(found.body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  ClientLock lock(mutex_);
  return FoundActor{objects_.adopt(answer.actor), std::move(answer.description)};
}

Result<wire::ActorNames> ActorCalls::list_actors(WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!connection_.is_open()) return connection_.closed();
    ticket = connection_.ask(wire::ControlType::kListActors);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, connection_.await_answer(ticket, Clock::now() + kAnswerLimit, hooks));
  return wire::decode<wire::ActorNames>(answer.body);
}

// The node counts this process as a holder of the actor that it names.
NodeConnection::Unwanted ActorCalls::let_go_of_actor() {
  return [this](door::Answer& given) FRAY_REQUIRES(client_mutex) {
    auto answer = wire::decode<wire::ActorAnswer>(given.body);
    if (!answer.is_ok() || answer->code != StatusCode::kOk || answer->actor == ActorId{}) return;
    Object* object = objects_.adopt(answer->actor);
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
  };
}

Status ActorCalls::kill_actor(Object* actor, bool no_restart, WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    ClientLock lock(mutex_);
    if (!connection_.is_open()) return connection_.closed();
    if (!actor->uncounted) objects_.share(actor);
    ticket = connection_.ask(wire::ControlType::kKillActor, wire::ActorName{actor->id, no_restart});
  }
  return connection_.await_answer(ticket, Clock::now() + kAnswerLimit, hooks).status();
}

void ActorCalls::become_actor(ActorId self, std::uint32_t places) {
  ClientLock lock(mutex_);
  objects_.set_self(self);
  seat_.set_places(places);
}

bool ActorCalls::is_actor_call(const Object* object) const {
  ClientLock lock(mutex_);
  return object->producer != nullptr && object->producer->actor != nullptr;
}

void ActorCalls::withdraw(Object* actor) {
  ClientLock lock(mutex_);
  connection_.link().send(wire::ControlType::kKillActor, 0, wire::ActorName{actor->id});
}

void ActorCalls::say_actor_failed(const wire::ActorFailure& failure) {
  ClientLock lock(mutex_);
  connection_.link().send(wire::ControlType::kActorFailed, 0, failure);
  connection_.link().flush();
}

}  // namespace fray::client
