// Commands of the HolderTable: what the node has to do. Values, compared as such in tests.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <variant>

#include "base/status.h"
#include "model/ids.h"

namespace fray::object {

struct Deliver {  // the value is known and this process asked for it
  ProcessId process = 0;
  ObjectId object;
  friend bool operator==(const Deliver&, const Deliver&) = default;
};
struct ReportLost {
  ProcessId process = 0;
  ObjectId object;
  StatusCode code = StatusCode::kOwnerDied;
  friend bool operator==(const ReportLost&, const ReportLost&) = default;
};
struct Forget {  // the object has no holder any more
  ObjectId object;
  friend bool operator==(const Forget&, const Forget&) = default;
};
using Command = std::variant<Deliver, ReportLost, Forget>;

}  // namespace fray::object
