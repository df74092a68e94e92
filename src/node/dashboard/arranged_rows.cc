#include "node/dashboard/arranged_rows.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/join.h"

namespace fray::node {

using nlohmann::json;

Result<std::string_view> sort_key(const ListQuery& query, const std::vector<std::string_view>& keys) {
  if (query.sort.empty()) return keys.front();
  auto found = std::find(keys.begin(), keys.end(), query.sort);
  if (found != keys.end()) return *found;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("sort must be one of {}, not \"{}\"", fmt::join(keys, ", "), query.sort));
}

bool has_text(std::string_view name, std::string_view searched) {
  return std::search(name.begin(), name.end(), searched.begin(), searched.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }) !=
             name.end() ||
         searched.empty();
}

void arrange(std::vector<json>& rows, const ListQuery& query, std::string_view key, std::size_t* total) {
  *total = rows.size();
  const std::string name(key);
  std::stable_sort(rows.begin(), rows.end(), [&](const json& a, const json& b) {
    const json& left = a.at(name);
    const json& right = b.at(name);
    if (left.is_null() || right.is_null()) return !left.is_null() && right.is_null();
    return query.descending ? right < left : left < right;
  });
  const std::size_t first = std::min(query.after, rows.size());
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
  if (rows.size() > query.limit) rows.resize(query.limit);
}

}  // namespace fray::node
