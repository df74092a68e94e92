// SessionOptions: the options that a node is started with. Options that were not given come from the machine.
//
//   parse_options(R"({"cpus": 2, "resources": {"TPU": 4}})")
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    kInvalidArgument for unknown keys (the known ones are listed), wrong kinds and impossible amounts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/resource_set.h"

namespace fray::node {

struct SessionOptions {
  ResourceSet total;              // CPU, memory (bytes), GPUs that are there, and the declared ones
  std::vector<std::string> gpus;  // names of those that are there, whatever was declared
  std::uint32_t max_workers = 0;
  double memory_threshold = 0;  // the share of the memory that may be used, as in os::MemoryRoom
  std::uint64_t store_memory_bytes = 0;
  std::string spill_folder;    // absolute
  std::string session_folder;  // empty: a new one in the run folder
  bool dashboard = false;      // also an embedded node is to answer HTTP
};

Result<SessionOptions> parse_options(std::string_view json);

}  // namespace fray::node
