#include "node/workers/device_names.h"

namespace fray::node {

std::vector<std::pair<std::string, std::string>> DeviceNames::environment(const DeviceSet& devices) const {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [kind, indices] : devices) {
    const bool is_gpu = kind == "GPU";
    std::string names;
    for (std::uint32_t index : indices) {
      if (!names.empty()) names += ',';
      names += is_gpu && index < gpus_.size() ? gpus_[index] : std::to_string(index);
    }
    variables.emplace_back(is_gpu ? "CUDA_VISIBLE_DEVICES" : kind + "_VISIBLE_CHIPS", names);
  }
  return variables;
}

}  // namespace fray::node
