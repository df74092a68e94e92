#include "node/dashboard/waiting_groups.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace fray::node {

namespace {

using nlohmann::json;

constexpr std::size_t kMostNamedProcesses = 20;  // named in a group

}  // namespace

json waiting_groups(const WaitingRows& waiting) {
  std::map<std::pair<std::string, std::string>, json> groups;
  for (const json& row : waiting.tasks) {
    const auto client = row["client"].get<ProcessId>();
    const std::int32_t pid = waiting.pid_of(client);
    if (pid == 0) continue;  // the home of an actor, which comes below
    const auto reason = row["reason"].get<std::string>();
    json& group = groups[{reason, row["resources"].dump()}];
    if (group.is_null()) {
      group = {{"kind", "tasks"},
               {"count", 0},
               {"seconds", 0.0},
               {"reason", reason},
               {"way_on", row["way_on"]},
               {"resources", row["resources"]},
               {"processes", json::array()}};
    }
    group["count"] = group["count"].get<std::uint64_t>() + row["count"].get<std::uint64_t>();
    group["seconds"] = std::max(group["seconds"].get<double>(), row["waiting_seconds"].get<double>());
    if (group["processes"].size() < kMostNamedProcesses) {
      group["processes"].push_back({{"process", client}, {"pid", pid}});
    }
  }
  std::vector<json> rows;
  for (auto& [reason, group] : groups) rows.push_back(std::move(group));
  for (const json& row : waiting.actors) {
    if (!row.contains("reason")) continue;
    rows.push_back({{"kind", "actor"},
                    {"name", row.contains("name") ? row["name"] : row["class"]},
                    {"count", 1},
                    {"seconds", nullptr},
                    {"reason", row["reason"]},
                    {"way_on", row["way_on"]}});
  }
  for (const json& row : waiting.jobs) {
    if (!row.contains("reason")) continue;
    rows.push_back({{"kind", "job"},
                    {"id", row["id"]},
                    {"count", 1},
                    {"seconds", nullptr},
                    {"reason", row["reason"]},
                    {"way_on", row["way_on"]}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
    return a["count"].get<std::uint64_t>() > b["count"].get<std::uint64_t>();
  });
  return rows;
}

}  // namespace fray::node
