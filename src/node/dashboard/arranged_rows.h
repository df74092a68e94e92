// arrange(): sorts the rows of a list by one of their keys, and keeps those that were asked for.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kInvalidArgument for an unknown sort key; the message lists the known ones.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "node/dashboard/dashboard_view.h"

namespace fray::node {

// A list is sorted by the first of `keys` unless another one is asked for.
Result<std::string_view> sort_key(const ListQuery& query, const std::vector<std::string_view>& keys);
// Whether a name contains the searched text, in upper or lower case.
bool has_text(std::string_view name, std::string_view searched);
// Rows without a value come last. `total`: how many rows there are without the limit.
void arrange(std::vector<nlohmann::json>& rows, const ListQuery& query, std::string_view key, std::size_t* total);

}  // namespace fray::node
