// arrange(): sorts the rows of a list by one of their keys, and keeps those that were asked for.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kInvalidArgument for a key that is none, with those that there are.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "node/dashboard/dashboard_view.h"

namespace fray::node {

// The first of `keys` is what the list is sorted by if nothing was said.
Result<std::string_view> sort_key(const ListQuery& query, const std::vector<std::string_view>& keys);
// Whether a name has what is searched for, in any case of its letters.
bool has_text(std::string_view name, std::string_view searched);
// Rows without a value come last. `total`: how many there were.
void arrange(std::vector<nlohmann::json>& rows, const ListQuery& query, std::string_view key, std::size_t* total);

}  // namespace fray::node
