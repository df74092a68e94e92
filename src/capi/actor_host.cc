#include "capi/actor_host.h"

#include <thread>

#include <fmt/format.h>

#include "capi/actor_description.h"
#include "capi/function.h"
#include "capi/registry.h"
#include "capi/running_call.h"
#include "wire/failure.h"
#include "worker/actor_loop.h"

namespace fray::capi {

namespace {

class ActorHost {
 public:
  ActorHost(fray_session& session, worker::Page& page, const wire::HostActor& actor);

  void run();

 private:
  bool construct();
  void refuse(const wire::Value& error, const std::string& text);
  void serve(client::WorkerDuty* duty);
  void run_call(worker::ActorCall* taken, client::WorkerDuty* duty);

  fray_session& session_;
  const wire::HostActor& actor_;
  std::string_view class_payload_;
  std::string_view body_;  // the body of a task: head, name, arguments
  ActorDescription description_;
  worker::ActorLoop loop_;
  const ActorEntry* entry_ = nullptr;
  void* instance_ = nullptr;
};

ActorDescription describe(const wire::HostActor& actor) {
  return ActorDescription::decode(wire::ConstructorView::of(actor.constructor).settings).value_or(ActorDescription());
}

ActorHost::ActorHost(fray_session& session, worker::Page& page, const wire::HostActor& actor)
    : session_(session),
      actor_(actor),
      description_(describe(actor)),
      loop_(*session.client, page, description_.class_name) {
  const auto parts = wire::ConstructorView::of(actor.constructor);
  class_payload_ = parts.function;
  body_ = parts.body;
}

void ActorHost::run() {
  const int threads = std::max(1, description_.max_concurrency);
  session_.client->actors().become_actor(actor_.actor, static_cast<std::uint32_t>(threads));
  loop_.set_mode(threads == 1 ? worker::ActorLoop::Mode::kSerial : worker::ActorLoop::Mode::kThreads);
  session_.client->set_duty(&loop_);
  if (construct()) {
    for (int i = 1; i < threads; ++i) std::thread([this] { serve(nullptr); }).detach();
    session_.client->say(wire::ControlType::kActorReady);
    serve(threads == 1 ? &loop_ : nullptr);
    // Other threads may still run methods of the instance, or wait in the loop; they end with the process.
    if (threads == 1 && entry_->destroy != nullptr) entry_->destroy(instance_);
  }
  session_.client->set_duty(nullptr);
}

bool ActorHost::construct() {
  wire::ByteReader in(body_);
  worker::TaskView task;
  task.client = actor_.actor.owner;
  task.read(in);
  task.name = description_.class_name;
  client::Submission::set_depth(task.head.depth + 1);
  auto never = [] { return false; };
  fray_call call(session_, task, {}, nullptr, never);
  Result<std::string_view> name = cpp_name_of(class_payload_);
  auto entry = name.is_ok() ? Registry::instance().find_actor(*name) : Result<const ActorEntry*>(name.status());
  if (!in.ok() || !call.readable) {
    call.fail("fray::Error", task.head.keywords != 0 ? "C++ constructors take no keyword arguments"
                                                     : "the constructor's arguments do not fit their format");
  } else if (!entry.is_ok()) {
    call.fail("fray::Error", entry.status().message());
  } else {
    entry_ = *entry;
    instance_ = entry_->construct(&call, entry_->context);
    call.end_forked_child();
    if (instance_ == nullptr && !call.failed) call.fail("fray::Error", "the constructor made no instance");
  }
  if (!call.failed) return true;
  wire::ByteReader out(call.outcome.bytes);
  wire::Value error = wire::decode_value(out).to_value();
  auto failure = wire::decode<wire::Failure>(error.bytes);
  refuse(error, failure.is_ok() ? failure->type_name + ": " + failure->message : "its constructor failed");
  return false;
}

void ActorHost::refuse(const wire::Value& error, const std::string& text) {
  wire::ActorFailure failure;
  failure.error = error;
  failure.text = text;
  session_.client->actors().say_actor_failed(failure);
}

void ActorHost::serve(client::WorkerDuty* duty) {
  Hooks hooks;
  while (!loop_.has_ended()) {
    if (worker::ActorCall* call = loop_.next(true, hooks)) run_call(call, duty);
  }
}

void ActorHost::run_call(worker::ActorCall* taken, client::WorkerDuty* duty) {
  const worker::TaskView& task = taken->task;
  client::Submission::set_depth(task.head.depth + 1);
  client::Submission::set_starter(taken->ordinal);
  client::Client::set_call({task.client, task.number, task.name});
  auto cancelled = [&] { return loop_.is_cancelled(taken); };
  fray_call call(session_, task, description_.class_name, duty, cancelled);
  auto found = entry_->methods.find(task.name);
  if (found == entry_->methods.end()) {
    call.fail("fray::Error", fmt::format("the actor class {} has no method '{}'", description_.class_name, task.name));
  } else if (!call.readable) {
    call.fail("fray::Error", task.head.keywords != 0 ? "C++ methods take no keyword arguments"
                                                     : "the call's arguments do not fit their format");
  } else {
    found->second.body(&call, instance_, found->second.context);
    call.end_forked_child();
  }
  worker::Outcome outcome;
  call.finish(&outcome);
  loop_.answer(taken, outcome);
}

}  // namespace

void host_actor(fray_session& session, worker::Page& page, const wire::HostActor& actor) {
  // Never destroyed: the threads of the actor wait in it until the process ends.
  auto* host = new ActorHost(session, page, actor);
  host->run();
}

}  // namespace fray::capi
