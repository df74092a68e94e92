// Messages about objects: which process holds them, their values, and their loss.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "wire/control.h"
#include "wire/value.h"

namespace fray::wire {

struct ObjectIds {  // kRegister, kHold, kRelease, kWant
  std::vector<ObjectId> ids;

  FRAY_FIELDS(ids);
};

// The object's value is known. Sent by the process that made it: the worker (large results, results with refs inside)
// or the owner (its registered objects). It registers the object with `holder` as its holder if the node did not know
// it.
struct Complete {
  static constexpr ControlType kType = ControlType::kComplete;
  ObjectId object;
  ProcessId holder = 0;
  Value value;

  FRAY_FIELDS(object, holder, value);
};

// Whoever submitted the task that makes the object shall cancel it.
struct CancelObject {  // kCancelObject, kCancelWanted
  ObjectId object;
  bool force = false;      // the worker is killed if the task runs
  bool recursive = false;  // what the task has started is cancelled, too

  FRAY_FIELDS(object, force, recursive);
};

struct ObjectReady {
  static constexpr ControlType kType = ControlType::kObjectReady;
  ObjectId object;
  Value value;

  FRAY_FIELDS(object, value);
};

struct ObjectLost {
  static constexpr ControlType kType = ControlType::kObjectLost;
  ObjectId object;
  StatusCode code = StatusCode::kObjectLost;
  std::string message;

  FRAY_FIELDS(object, code, message);
};

}  // namespace fray::wire
