// waiting_groups(): what waits on a node, grouped by reason, from the rows of its status document.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "base/function_ref.h"
#include "model/ids.h"

namespace fray::node {

struct WaitingRows {
  const nlohmann::json& tasks;
  const nlohmann::json& actors;  // those without a reason are passed over, as with jobs
  const nlohmann::json& jobs;
  FunctionRef<std::int32_t(ProcessId)> pid_of;  // of a client; 0: it has none
};

// The largest count first.
nlohmann::json waiting_groups(const WaitingRows& waiting);

}  // namespace fray::node
