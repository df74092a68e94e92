// CallWait: a task or call that waits for others, as its process reports it to the node for the wait graph.
//
// A call is named by its first result: the process that submitted it, and that process's number of it.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/ids.h"

namespace fray {

// What is waited for.
struct AwaitedCall {
  ObjectId call;     // an id that names no call when the call is unknown
  ActorId actor;     // that it was sent to; of tasks, and where only the submitter knows: none
  std::string name;  // for people; empty where only the submitter knows

  FRAY_FIELDS(call, actor, name);
  friend bool operator==(const AwaitedCall&, const AwaitedCall&) = default;
};

struct CallWait {
  ObjectId call;             // that waits
  std::string name;          // of the task or method
  std::uint32_t places = 1;  // calls that its process runs at once
  std::uint32_t needed = 0;  // of `awaited`, for the wait to end
  std::vector<AwaitedCall> awaited;

  FRAY_FIELDS(call, name, places, needed, awaited);
  friend bool operator==(const CallWait&, const CallWait&) = default;
};

}  // namespace fray
