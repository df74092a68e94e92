// Messages about actors, between a client and the node. Calls themselves are task frames on a direct socket
// (wire/direct.h): TaskHead::function is the hash of the method's name, which is the frame's name.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "wire/bytes.h"
#include "wire/control.h"
#include "wire/value.h"

namespace fray::wire {

// The class and the constructor's arguments, once these are ready.
struct ConstructActor {
  static constexpr ControlType kType = ControlType::kConstructActor;
  ActorId actor;
  std::string constructor;     // as in HostActor
  std::vector<ObjectId> held;  // refs among and inside the arguments
  Value failure;               // is_failure(): an argument failed, and so does the actor
  void encode(ByteWriter& out) const;
  static Result<ConstructActor> decode(std::string_view body);
};

struct ActorName {  // kConnectActor, kKillActor
  ActorId actor;
  bool no_restart = true;  // kKillActor
  void encode(ByteWriter& out) const;
  static Result<ActorName> decode(std::string_view body);
};

struct FindActor {
  static constexpr ControlType kType = ControlType::kFindActor;
  std::string name_space;
  std::string name;
  void encode(ByteWriter& out) const;
  static Result<FindActor> decode(std::string_view body);
};

struct ActorFailure {
  static constexpr ControlType kType = ControlType::kActorFailed;
  Value error;       // what the constructor raised
  std::string text;  // its type and message
  void encode(ByteWriter& out) const;
  static Result<ActorFailure> decode(std::string_view body);
};

struct ActorAnswer {
  static constexpr ControlType kType = ControlType::kActorAnswer;
  ActorId actor;  // the one that has the name
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string description;
  void encode(ByteWriter& out) const;
  static Result<ActorAnswer> decode(std::string_view body);
};

struct ActorNames {
  static constexpr ControlType kType = ControlType::kActorNames;
  std::vector<std::pair<std::string, std::string>> names;  // namespace, name
  void encode(ByteWriter& out) const;
  static Result<ActorNames> decode(std::string_view body);
};

struct ActorConnected {
  static constexpr ControlType kType = ControlType::kActorConnected;
  ActorId actor;
  std::uint32_t incarnation = 0;
  std::int32_t pid = 0;
  void encode(ByteWriter& out) const;
  static Result<ActorConnected> decode(std::string_view body);
};

struct ActorLost {
  static constexpr ControlType kType = ControlType::kActorLost;
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  ActorId actor;
  bool dead = false;               // else another instance comes
  std::uint64_t last_started = 0;  // call of this client; those after it never started. kUnknown: nobody can tell
  std::uint64_t last_ended = 0;    // call of this client; it and those before it ran to their end
  std::string class_name;
  std::string name;   // empty: none
  std::string cause;  // one sentence and the last lines of the log, for people
  Value error;        // is_failure(): what the constructor raised
  void encode(ByteWriter& out) const;
  static Result<ActorLost> decode(std::string_view body);
};

// Why a call has no result (Encoding::kActorDied): the bytes of its value.
struct ActorDeath {
  enum class Executed : std::uint8_t { kNo = 0, kYes = 1, kUnknown = 2 };
  Executed executed = Executed::kNo;
  std::string class_name;
  std::string name;   // empty: none
  std::string text;   // the cause, for people
  std::string error;  // what the constructor raised, packed; else empty
  void encode(ByteWriter& out) const;
  static Result<ActorDeath> decode(std::string_view body);
};

struct HostActor {
  static constexpr ControlType kType = ControlType::kHostActor;
  ActorId actor;
  std::uint32_t incarnation = 0;
  double cpus = 0;          // what the actor holds
  std::string constructor;  // a string: the class as a function's payload; a string: settings; then a task's body
  void encode(ByteWriter& out) const;
  static Result<HostActor> decode(std::string_view body);
};

}  // namespace fray::wire
