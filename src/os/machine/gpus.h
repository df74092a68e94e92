// The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes.
//
// They are those that have device files here (a container has only its own), as far as CUDA_VISIBLE_DEVICES and
// NVIDIA_VISIBLE_DEVICES allow them. No library of the driver is needed.
//
// Threading:  any thread; reads the environment and /dev.
// Ownership:  values.
// Failure:    none: a machine without GPUs has none.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fray::os {

std::vector<std::string> usable_gpus();

// The decision: `present` GPUs, and the two variables where they are set.
std::vector<std::string> choose_gpus(std::size_t present, const std::optional<std::string>& cuda_visible,
                                     const std::optional<std::string>& nvidia_visible);

}  // namespace fray::os
