// What a client asks the node about actors, and what the node says of them.
#include <utility>

#include <fmt/format.h>

#include "client/call.h"
#include "client/client.h"
#include "model/resource_text.h"
#include "wire/create_actor.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kAnswerLimit = 30s;
}  // namespace

Result<FoundActor> Client::create_actor(ActorRequest request, WaitHooks& hooks) {
  Unaccepted unaccepted{*this, request.constructor.task};
  wire::CreateActor message;
  std::uint64_t ticket = 0;
  FoundActor made;
  {
    MutexLock lock(mutex_);
    const TaskOptions& options = request.constructor.options;
    FRAY_RETURN_IF_ERROR(why_refused(*request.constructor.task, &options.shape.resources, "actor"));
    made.object = new Object;
    made.object->id = objects_.own_id(objects_.take_sequence(1));
    objects_.share(made.object);
    message.actor = made.object->id;
    message.shape = options.shape.at_depth(Client::depth());
    message.max_restarts = request.max_restarts;
    message.detached = request.detached;
    message.get_if_exists = request.get_if_exists;
    message.event_loop = request.event_loop;
    message.name_space = request.name_space;
    message.name = request.name;
    message.class_name = request.class_name;
    message.description = request.description;
    if (!request.name.empty()) ticket = questions_.ask(let_go_of_actor());
    link_.send(wire::ControlType::kCreateActor, ticket, message);
    link_.flush();
  }
  if (ticket != 0) {
    Result<door::Answer> waited = await_answer(ticket, Clock::now() + kAnswerLimit, hooks);
    auto answer =
        waited.is_ok() ? wire::decode<wire::ActorAnswer>(waited->body) : Result<wire::ActorAnswer>(waited.status());
    Status refused = !answer.is_ok()                   ? answer.status()
                     : answer->code != StatusCode::kOk ? Status(answer->code, answer->message)
                                                       : Status::ok();
    if (!refused.is_ok() || answer->actor != message.actor) {
      if (!waited.is_ok()) withdraw(made.object);  // nobody would ever construct it
      release(made.object);
      if (!refused.is_ok()) return refused;
      MutexLock lock(mutex_);
      return FoundActor{objects_.adopt(answer->actor), std::move(answer->description)};
    }
  }
  MutexLock lock(mutex_);
  if (!open_) {
    lock.unlock();
    release(made.object);
    return why_closed();
  }
  Task* task = request.constructor.task.release();
  for (Object* result : make_results(task, request.constructor.options)) {
    result->references.fetch_sub(1, std::memory_order_acq_rel);  // nobody asks for it
  }
  actors_.construct(actors_.queue(made.object), task, std::move(request.settings));
  settle();
  return made;
}

Result<std::vector<Object*>> Client::call_actor(Object* actor, Call call, std::int64_t most_pending) {
  Unaccepted unaccepted{*this, call.task};
  MutexLock lock(mutex_);
  ActorQueue* queue = actors_.queue(actor);
  Status refused = why_refused(*call.task, nullptr, "call");
  if (refused.is_ok() && most_pending >= 0 && queue->unfinished >= static_cast<std::size_t>(most_pending)) {
    refused = Status(StatusCode::kResourceExhausted,
                     fmt::format("{} calls of this actor have no answer yet, the limit that its max_pending_calls sets",
                                 queue->unfinished));
  }
  FRAY_RETURN_IF_ERROR(std::move(refused));
  Task* task = call.task.release();
  std::vector<Object*> results = make_results(task, call.options);
  actors_.call(queue, task);
  settle();
  wake_stale_sleepers();
  return results;
}

Result<FoundActor> Client::find_actor(std::string_view name_space, std::string_view name, WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    ticket = ask(wire::ControlType::kFindActor, wire::FindActor{std::string(name_space), std::string(name)},
                 let_go_of_actor());
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer found, await_answer(ticket, Clock::now() + kAnswerLimit, hooks));
  FRAY_ASSIGN_OR_RETURN(wire::ActorAnswer answer, wire::decode<wire::ActorAnswer>(found.body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  MutexLock lock(mutex_);
  return FoundActor{objects_.adopt(answer.actor), std::move(answer.description)};
}

Result<wire::ActorNames> Client::list_actors(WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    ticket = ask(wire::ControlType::kListActors);
  }
  FRAY_ASSIGN_OR_RETURN(door::Answer answer, await_answer(ticket, Clock::now() + kAnswerLimit, hooks));
  return wire::decode<wire::ActorNames>(answer.body);
}

// The node counts this process as a holder of the actor that it names.
Client::Unwanted Client::let_go_of_actor() {
  return [this](door::Answer& given) FRAY_REQUIRES(mutex_) {
    auto answer = wire::decode<wire::ActorAnswer>(given.body);
    if (!answer.is_ok() || answer->code != StatusCode::kOk || answer->actor == ActorId{}) return;
    Object* object = objects_.adopt(answer->actor);
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
  };
}

Status Client::kill_actor(Object* actor, bool no_restart, WaitHooks& hooks) {
  std::uint64_t ticket = 0;
  {
    MutexLock lock(mutex_);
    if (!open_) return closed_;
    if (!actor->uncounted) objects_.share(actor);
    ticket = ask(wire::ControlType::kKillActor, wire::ActorName{actor->id, no_restart});
  }
  return await_answer(ticket, Clock::now() + kAnswerLimit, hooks).status();
}

void Client::become_actor(ActorId self, std::uint32_t places) {
  MutexLock lock(mutex_);
  objects_.set_self(self);
  places_ = places;
}

bool Client::is_actor_call(const Object* object) const {
  MutexLock lock(mutex_);
  return object->producer != nullptr && object->producer->actor != nullptr;
}

void Client::withdraw(Object* actor) {
  MutexLock lock(mutex_);
  link_.send(wire::ControlType::kKillActor, 0, wire::ActorName{actor->id});
}

void Client::say_actor_failed(const wire::ActorFailure& failure) {
  MutexLock lock(mutex_);
  link_.send(wire::ControlType::kActorFailed, 0, failure);
  link_.flush();
}

void Client::handle_actor(wire::Incoming& frame) {
  using wire::ControlType;
  auto broken = [this](const Status& status) FRAY_REQUIRES(mutex_) { node_lost(status.message()); };
  switch (static_cast<ControlType>(frame.header.type)) {
    case ControlType::kActorConnected: {
      auto message = wire::decode<wire::ActorConnected>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      return actors_.connected(message.value(), std::move(frame.fds.front()));
    }
    case ControlType::kActorLost: {
      auto message = wire::decode<wire::ActorLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return actors_.lost(message.value());
    }
    case ControlType::kHostActor: {
      auto message = wire::decode<wire::HostActor>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      early_actor_ = std::move(message.value());
      return deliver_leases();
    }
    default:
      return;
  }
}

}  // namespace fray::client
