// Messages about actors, between a client and the node. Calls of actors do not pass through the node: they are frames
// of tasks on a direct socket (wire/direct.h), in which TaskHead::function is the hash of the method's name.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "wire/control.h"
#include "wire/value.h"

namespace fray::wire {

// The class and the constructor's arguments, once these are ready.
struct ConstructActor {
  static constexpr ControlType kType = ControlType::kConstructActor;
  ActorId actor;
  std::string constructor;     // a ConstructorView
  std::vector<ObjectId> held;  // refs among and inside the arguments
  Value failure;               // is_failure(): an argument failed, and so does the actor

  FRAY_FIELDS(actor, constructor, held, failure);
};

struct ActorName {  // kConnectActor, kKillActor
  ActorId actor;
  bool no_restart = true;  // kKillActor

  FRAY_FIELDS(actor, no_restart);
};

struct FindActor {
  static constexpr ControlType kType = ControlType::kFindActor;
  std::string name_space;
  std::string name;
  ActorId actor;  // looked for in place of a name, unless it is empty

  FRAY_FIELDS(name_space, name, actor);
};

struct ActorFailure {
  static constexpr ControlType kType = ControlType::kActorFailed;
  Value error;       // what the constructor raised
  std::string text;  // its type and message

  FRAY_FIELDS(error, text);
};

struct ActorAnswer {
  static constexpr ControlType kType = ControlType::kActorAnswer;
  ActorId actor;  // the one that has the name
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string description;

  FRAY_FIELDS(actor, code, message, description);
};

struct ActorNames {
  static constexpr ControlType kType = ControlType::kActorNames;
  std::vector<std::pair<std::string, std::string>> names;  // namespace, name

  FRAY_FIELDS(names);
};

struct ActorConnected {
  static constexpr ControlType kType = ControlType::kActorConnected;
  ActorId actor;
  std::uint32_t incarnation = 0;
  std::int32_t pid = 0;

  FRAY_FIELDS(actor, incarnation, pid);
};

// What becomes of an actor whose incarnation is gone.
enum class ActorFate : std::uint8_t {
  kEnded = 0,
  kConstructorFailed = 1,  // it has ended because its constructor raised, or an argument of it had failed
  kLivesOn = 2,            // a later call reaches it again: another incarnation takes its place, or only a socket broke
};
constexpr ActorFate last_of(ActorFate) { return ActorFate::kLivesOn; }

struct ActorLost {
  static constexpr ControlType kType = ControlType::kActorLost;
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  ActorId actor;
  ActorFate fate = ActorFate::kLivesOn;
  std::uint64_t last_started = 0;  // call of this client; those after it never started. kUnknown: nobody can tell
  std::uint64_t last_ended = 0;    // call of this client; it and those before it ran to their end
  std::string class_name;
  std::string name;                   // empty: none
  std::string cause;                  // one sentence and the last lines of the log, for people
  Value error;                        // is_failure(): what the constructor raised
  StatusCode code = StatusCode::kOk;  // else: why it has no worker (any more)

  bool is_end() const { return fate != ActorFate::kLivesOn; }

  FRAY_FIELDS(actor, fate, last_started, last_ended, class_name, name, cause, error, code);
};

// Why a call has no result (Encoding::kActorDied): the bytes of its value.
struct ActorDeath {
  enum class Executed : std::uint8_t { kNo = 0, kYes = 1, kUnknown = 2 };
  friend constexpr Executed last_of(Executed) { return Executed::kUnknown; }
  ObjectId actor;
  Executed executed = Executed::kNo;
  ActorFate fate = ActorFate::kEnded;
  std::string class_name;
  std::string name;                   // empty: none
  std::string text;                   // the cause, for people
  std::string error;                  // what the constructor raised, packed; else empty
  StatusCode code = StatusCode::kOk;  // else: why it has no worker (any more)

  FRAY_FIELDS(actor, executed, fate, class_name, name, text, error, code);
};

// What ConstructActor::constructor and HostActor::constructor hold, in the bytes that they lie in.
struct ConstructorView {
  std::string_view function;  // the class, as a function's payload
  std::string_view settings;  // the creator's, which the node does not read
  std::string_view body;      // a task's: head, name, arguments

  static ConstructorView of(std::string_view constructor) {
    ByteReader in(constructor);
    ConstructorView parts;
    parts.function = in.get_string();
    parts.settings = in.get_string();
    parts.body = in.get_raw(in.left());
    return parts;
  }
  std::string bytes() const {
    std::string constructor;
    ByteWriter out(constructor);
    out.put_string(function);
    out.put_string(settings);
    out.put_raw(body);
    return constructor;
  }
};

struct HostActor {
  static constexpr ControlType kType = ControlType::kHostActor;
  ActorId actor;
  std::uint32_t incarnation = 0;
  double cpus = 0;          // what the actor holds
  std::string constructor;  // a ConstructorView

  FRAY_FIELDS(actor, incarnation, cpus, constructor);
};

}  // namespace fray::wire
