// Records of objects: who holds them, and what became of them.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "wire/bytes.h"
#include "wire/control.h"
#include "wire/value.h"

namespace fray::wire {

struct ObjectIds {  // kRegister, kHold, kRelease, kWant
  std::vector<ObjectId> ids;
  void encode(ByteWriter& out) const;
  static Result<ObjectIds> decode(std::string_view body);
};

// The object's value is known. Sent by whoever made it: the worker (large results, results with refs inside) or the
// owner (its registered objects). Registers the object with `holder` as its holder if it was not known.
struct Complete {
  static constexpr ControlType kType = ControlType::kComplete;
  ObjectId object;
  ProcessId holder = 0;
  Value value;
  void encode(ByteWriter& out) const;
  static Result<Complete> decode(std::string_view body);
};

struct ObjectReady {
  static constexpr ControlType kType = ControlType::kObjectReady;
  ObjectId object;
  Value value;
  void encode(ByteWriter& out) const;
  static Result<ObjectReady> decode(std::string_view body);
};

struct ObjectLost {
  static constexpr ControlType kType = ControlType::kObjectLost;
  ObjectId object;
  StatusCode code = StatusCode::kObjectLost;
  std::string message;
  void encode(ByteWriter& out) const;
  static Result<ObjectLost> decode(std::string_view body);
};

}  // namespace fray::wire
