// DeviceNames: the environment variables that tell the libraries of a worker which devices it is bound to.
//
//   {"GPU": [0, 2]}  ->  CUDA_VISIBLE_DEVICES=0,2    or the names that the node itself was given for its GPUs
//   {"TPU": [1]}     ->  TPU_VISIBLE_CHIPS=1
//
// Threading:  confined to the node's loop.
// Ownership:  values.
// Failure:    a device without a name, such as a declared one that does not exist, is named by its index.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/device_set.h"

namespace fray::node {

class DeviceNames {
 public:
  explicit DeviceNames(std::vector<std::string> gpus) : gpus_(std::move(gpus)) {}

  std::vector<std::pair<std::string, std::string>> environment(const DeviceSet& devices) const;

 private:
  std::vector<std::string> gpus_;
};

}  // namespace fray::node
