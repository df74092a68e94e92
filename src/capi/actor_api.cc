// Actors of the C API, from the caller's side: creating, finding, calling, killing.
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "capi/actor_description.h"
#include "capi/call_frame.h"
#include "capi/failure.h"
#include "capi/function.h"
#include "capi/resources.h"
#include "client/call.h"

using namespace fray;

struct fray_actor {
  std::atomic<std::size_t> references{1};
  fray_session* session = nullptr;     // counted
  client::Object* object = nullptr;    // counted
  std::string packed;                  // the description, as it travels
  capi::ActorDescription description;  // defaults where the description is one of Python
  Mutex mutex;
  // Methods that were called, by name.
  std::unordered_map<std::string, std::shared_ptr<client::Function>> methods FRAY_GUARDED_BY(mutex);
};

namespace fray::capi {

namespace {

constexpr std::size_t kMostNameBytes = 120;
constexpr std::size_t kMostMethods = 1024;

// Takes over one reference to `object`.
fray_actor* make_handle(fray_session* session, client::Object* object, std::string packed) {
  auto* actor = new fray_actor;
  actor->session = session;
  fray_session_retain(session);
  actor->object = object;
  auto known = ActorDescription::decode(packed);
  actor->packed = std::move(packed);
  if (known) {
    actor->description = std::move(*known);
  } else {
    actor->description.language = FRAY_PYTHON;
    actor->description.class_name = "actor";
  }
  return actor;
}

std::shared_ptr<client::Function> method_of(fray_actor& actor, std::string_view name) {
  MutexLock lock(actor.mutex);
  if (actor.methods.size() >= kMostMethods) actor.methods.clear();  // a program may pass any number of different names
  std::shared_ptr<client::Function>& known = actor.methods[std::string(name)];
  if (known == nullptr) {
    auto kind = actor.description.language == FRAY_PYTHON ? FunctionKind::kMethod : FunctionKind::kCppMethod;
    known = make_function(kind, name, fmt::format("{}.{}", actor.description.class_name, name));
  }
  return known;
}

// Releases a worker key at the end of the scope, unless it is the driver's own.
class KeyHold {
 public:
  KeyHold(fray_session& session, const std::uint32_t& number) : session_(session), number_(number) {}
  ~KeyHold() {
    if (number_ != 0) session_.client->tasks().forget_key(number_);
  }
  KeyHold(const KeyHold&) = delete;
  KeyHold& operator=(const KeyHold&) = delete;

 private:
  fray_session& session_;
  const std::uint32_t& number_;
};

Result<fray_actor*> create(fray_session& session, std::int32_t language, std::string_view class_name,
                           const fray_actor_options& options, const fray_value* arguments, std::size_t count) {
  client::ActorRequest request;
  client::TaskOptions limits;
  limits.max_retries = 0;
  const KeyHold hold(session, limits.shape.key);  // until the actor has it
  FRAY_RETURN_IF_ERROR(read_shape(options, &limits.shape));
  if (language == FRAY_PYTHON) {
    FRAY_ASSIGN_OR_RETURN(limits.shape.key, hold_worker_key(session, language, {}));
  }
  ActorDescription description;
  description.language = static_cast<std::uint8_t>(language);
  description.class_name = class_name;
  if (language == FRAY_PYTHON)
    description.class_name = class_name.substr(class_name.find(':') + 1);  // without its module
  description.name = text_or(options.name);
  description.name_space = options.name_space != nullptr ? options.name_space : session.name_space;
  description.max_task_retries = options.max_task_retries;
  description.max_concurrency = options.max_concurrency;
  description.max_pending_calls = options.max_pending_calls;
  if (options.detached != 0 && description.name.empty()) {
    return Status(StatusCode::kInvalidArgument, "a detached actor needs a name: nobody could find it");
  }
  auto kind = language == FRAY_PYTHON ? FunctionKind::kPythonName : FunctionKind::kCpp;
  CallFrame frame(session, make_function(kind, class_name, description.class_name), "create");
  if (Status built = frame.build(description.class_name, 0, 1, arguments, count); !built.is_ok()) {
    return frame.not_sent(built);
  }
  request.name_space = description.name_space;
  request.name = description.name;
  request.get_if_exists = options.get_if_exists != 0;
  request.detached = options.detached != 0;
  request.max_restarts = options.max_restarts;
  request.class_name = description.class_name;
  request.description = request.settings = description.encode();
  std::string packed = request.description;
  request.constructor = {frame.finish(), limits};
  Hooks hooks;
  auto found = session.client->actors().create_actor(std::move(request), hooks);
  if (!found.is_ok()) return frame.not_sent(found.status());
  return make_handle(&session, found->object, found->description.empty() ? packed : found->description);
}

}  // namespace

}  // namespace fray::capi

int fray_actor_create(fray_session* session, int32_t language, const char* name, const fray_actor_options* given,
                      const fray_value* arguments, size_t count, fray_actor** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  fray_actor_options options{};
  options.max_pending_calls = -1;
  if (given != nullptr) std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  auto made = capi::create(*session, language, name, options, arguments, count);
  if (!made.is_ok()) return capi::fail(made.status());
  *out = *made;
  return FRAY_OK;
}

int fray_actor_find(fray_session* session, const char* name_space, const char* name, fray_actor** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  capi::Hooks hooks;
  auto found = session->client->actors().find_actor(
      {.name_space = name_space != nullptr ? name_space : session->name_space, .name = name, .actor = {}}, hooks);
  if (!found.is_ok()) return capi::fail(found.status());
  *out = capi::make_handle(session, found->object, std::move(found->description));
  return FRAY_OK;
}

int fray_actor_adopt(fray_session* session, fray_object* object, const void* description, size_t size,
                     fray_actor** out) {
  client::retain(capi::object_of(object));
  *out = capi::make_handle(session, capi::object_of(object), std::string(static_cast<const char*>(description), size));
  return FRAY_OK;
}

int fray_actor_call(fray_actor* actor, const char* method, const fray_value* arguments, size_t count,
                    fray_object** out) {
  if (int code = capi::check_own(*actor->session); code != FRAY_OK) return code;
  std::string_view name(method);
  if (name.size() > capi::kMostNameBytes) {
    return capi::fail(FRAY_INVALID_ARGUMENT,
                      fmt::format("the method's name is longer than {} bytes", capi::kMostNameBytes));
  }
  capi::CallFrame frame(*actor->session, capi::method_of(*actor, name), "call");
  Status built = frame.build(name, 0, 1, arguments, count);
  if (!built.is_ok()) return capi::fail(frame.not_sent(built));
  client::TaskOptions options;
  options.max_retries = actor->description.max_task_retries;
  auto results = actor->session->client->actors().call_actor(actor->object, {frame.finish(), options},
                                                             actor->description.max_pending_calls);
  if (!results.is_ok()) return capi::fail(frame.not_sent(results.status()));
  frame.sent(results->front()->id);
  *out = capi::handle_of(results->front());
  return FRAY_OK;
}

int fray_actor_kill(fray_actor* actor, int no_restart) {
  if (int code = capi::check_own(*actor->session); code != FRAY_OK) return code;
  capi::Hooks hooks;
  Status killed = actor->session->client->actors().kill_actor(actor->object, no_restart != 0, hooks);
  return killed.is_ok() ? static_cast<int>(FRAY_OK) : capi::fail(killed);
}

fray_object* fray_actor_object(fray_actor* actor) { return capi::handle_of(actor->object); }
fray_bytes fray_actor_description(fray_actor* actor) { return {actor->packed.data(), actor->packed.size()}; }
const char* fray_actor_class(fray_actor* actor) { return actor->description.class_name.c_str(); }

void fray_actor_retain(fray_actor* actor) { actor->references.fetch_add(1, std::memory_order_relaxed); }

void fray_actor_release(fray_actor* actor) {
  if (actor == nullptr || actor->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (actor->session->inherited) return;
  actor->session->client->objects().release(actor->object);
  fray_session_release(actor->session);
  delete actor;
}
