#include "node/sessions/session_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "base/join.h"
#include "model/device_set.h"
#include "model/json_text.h"
#include "os/machine/gpus.h"
#include "os/machine/machine.h"

namespace fray::node {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kKeys = {"cpus",           "memory_bytes", "store_memory_bytes",
                                                   "spill_folder",   "resources",    "max_workers",
                                                   "session_folder", "dashboard",    "memory_threshold"};
constexpr double kFewestWorkers = 32;
constexpr double kMostWorkers = 100'000;
constexpr double kMostCpus = 100'000;
constexpr double kMostAmount = 1e14;  // the limit of a ResourceSet
// Not /tmp nor the run folder, which are often in memory themselves.
constexpr const char* kUsualSpillFolder = "/var/tmp";
constexpr double kStoreShare = 0.3;  // of the memory, by default

constexpr double kMostDevices = 4096;

Status wrong(std::string_view key, std::string_view expected) {
  return Status(StatusCode::kInvalidArgument, fmt::format("option {} must be {}", key, expected));
}

Result<double> number(const json& options, const char* key, double otherwise, double most = kMostAmount) {
  auto found = options.find(key);
  if (found == options.end() || found->is_null()) return otherwise;
  if (!found->is_number()) return wrong(key, "a number");
  const double given = found->get<double>();
  if (given >= 0 && given <= most) return given;
  const std::string_view kind = std::string_view(key).ends_with("_bytes") ? "memory" : "";
  return wrong(key, fmt::format("from 0 to {}, not {}", amount_text(kind, most), amount_text(kind, given)));
}

Result<std::string> text(const json& options, const char* key) {
  auto found = options.find(key);
  if (found == options.end() || found->is_null()) return std::string();
  if (!found->is_string()) return wrong(key, "a text");
  return found->get<std::string>();
}

Status check_keys(const json& options) {
  for (const auto& [key, value] : options.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("there is no option {}; the options are {}", key, fmt::join(kKeys, ", ")));
  }
  return Status::ok();
}

Status add_declared(const json& options, ResourceSet& total) {
  auto declared = options.find("resources");
  if (declared == options.end() || declared->is_null()) return Status::ok();
  if (!declared->is_object()) return wrong("resources", "an object of names and amounts");
  for (const auto& [name, amount] : declared->items()) {
    if (!amount.is_number()) return wrong("resources", "an object of names and amounts");
    FRAY_RETURN_IF_ERROR(total.set(name, amount.get<double>()));
    const bool is_device = std::find(kDeviceKinds.begin(), kDeviceKinds.end(), name) != kDeviceKinds.end();
    if (is_device &&
        (amount.get<double>() != std::floor(amount.get<double>()) || amount.get<double>() > kMostDevices)) {
      return wrong("resources: " + name, "a whole number of devices, at most 4096");
    }
  }
  return Status::ok();
}

// Tasks that wait, for others or without a CPU of their own, need workers beyond the CPUs: 128 or 8 for each CPU, as long
// as each has 64 MiB.
double usual_workers(double cpus, double machine_memory) {
  constexpr double kUsualWorkers = 128;
  constexpr double kWorkerMemory = 64.0 * 1024 * 1024;
  const double wanted = std::max(std::floor(8 * cpus), kUsualWorkers);
  return std::clamp(std::min(wanted, std::floor(machine_memory / kWorkerMemory)), kFewestWorkers, kMostWorkers);
}

}  // namespace

Result<SessionOptions> parse_options(std::string_view text_of_options) {
  json options = parse_json(text_of_options);
  if (!options.is_object()) return Status(StatusCode::kInvalidArgument, "the options are no JSON object");
  FRAY_RETURN_IF_ERROR(check_keys(options));

  SessionOptions parsed;
  FRAY_ASSIGN_OR_RETURN(double cpus, number(options, "cpus", os::usable_cpus(), kMostCpus));
  auto machine_memory = static_cast<double>(os::usable_memory_bytes());
  FRAY_ASSIGN_OR_RETURN(double memory, number(options, "memory_bytes", machine_memory));
  FRAY_RETURN_IF_ERROR(parsed.total.set("CPU", cpus));
  FRAY_RETURN_IF_ERROR(parsed.total.set("memory", memory));
  FRAY_RETURN_IF_ERROR(parsed.total.set("head_node", 1));  // the node of a program is the head of its cluster of one
  parsed.gpus = os::usable_gpus();
  FRAY_RETURN_IF_ERROR(parsed.total.set("GPU", static_cast<double>(parsed.gpus.size())));
  FRAY_RETURN_IF_ERROR(add_declared(options, parsed.total));

  FRAY_ASSIGN_OR_RETURN(double store, number(options, "store_memory_bytes", memory * kStoreShare));
  parsed.store_memory_bytes = static_cast<std::uint64_t>(store);
  FRAY_ASSIGN_OR_RETURN(double workers, number(options, "max_workers", usual_workers(cpus, machine_memory)));
  if (workers < 1 || workers > kMostWorkers || workers != std::floor(workers)) {
    return wrong("max_workers", fmt::format("a whole number from 1 to {}, not {}", kMostWorkers, workers));
  }
  parsed.max_workers = static_cast<std::uint32_t>(workers);
  FRAY_ASSIGN_OR_RETURN(parsed.memory_threshold, number(options, "memory_threshold", 0, 1));
  FRAY_ASSIGN_OR_RETURN(std::string spill_folder, text(options, "spill_folder"));
  // The node leaves its folder, so relative names are read now.
  parsed.spill_folder = std::filesystem::absolute(spill_folder.empty() ? kUsualSpillFolder : spill_folder).string();
  FRAY_ASSIGN_OR_RETURN(parsed.session_folder, text(options, "session_folder"));
  if (auto dashboard = options.find("dashboard"); dashboard != options.end() && !dashboard->is_null()) {
    if (!dashboard->is_boolean()) return wrong("dashboard", "true or false");
    parsed.dashboard = dashboard->get<bool>();
  }
  if (!parsed.session_folder.empty()) parsed.session_folder = std::filesystem::absolute(parsed.session_folder).string();
  return parsed;
}

}  // namespace fray::node
