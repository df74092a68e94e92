// TpuSlice: what one slice of a TPU consists of. The table is that of Python's fray.cluster.tpu_topology, from which the build
// writes ours.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none: a slice that is not in the table is nullptr.
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
// "v4-8, v4-16, ...": those of the generation that the name begins with; of all where there is no such generation.
std::string known_tpu_slices(std::string_view name);
// Whether a text has the form of a slice's name: "v9-8".
bool is_like_tpu_slice(std::string_view name);

}  // namespace fray::iris
