// waiting_groups(): what waits on a node, as its status document has it, grouped by reason.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fray::node {

// The largest count first.
nlohmann::json waiting_groups(const nlohmann::json& status);

}  // namespace fray::node
