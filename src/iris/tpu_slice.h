// TpuSlice: what one slice of a TPU consists of. The build makes the table from the one in Python's
// fray.cluster.tpu_topology.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none: for a slice that is not in the table the answer is nullptr.
#pragma once

#include <string>
#include <string_view>

namespace fray::iris {

struct TpuSlice {
  std::string_view name;  // "v5litepod-16"
  int machines = 0;
  int chips_per_machine = 0;
};

// Names are in lower case.
const TpuSlice* find_tpu_slice(std::string_view name);
// The names of slices for a message, "v4-8, v4-16, ...": those of the generation with which `name` begins, or all of
// them.
std::string known_tpu_slices(std::string_view name);
// Whether a text has the form of a slice's name: "v9-8".
bool is_like_tpu_slice(std::string_view name);

}  // namespace fray::iris
