#include "iris/tpu_slice.h"

#include <algorithm>
#include <iterator>

namespace fray::iris {

namespace {

constexpr TpuSlice kSlices[] = {
#include "iris/tpu_slices.inc"
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view generation_of(std::string_view name) { return name.substr(0, name.find('-')); }

}  // namespace

const TpuSlice* find_tpu_slice(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kSlices), std::end(kSlices), [&](const TpuSlice& slice) { return slice.name == name; });
  return found == std::end(kSlices) ? nullptr : found;
}

std::string known_tpu_slices(std::string_view name) {
  auto is_alike = [&](const TpuSlice& slice) { return generation_of(slice.name) == generation_of(name); };
  const bool any = std::any_of(std::begin(kSlices), std::end(kSlices), is_alike);
  std::string names;
  for (const TpuSlice& slice : kSlices) {
    if (any && !is_alike(slice)) continue;
    names += (names.empty() ? "" : ", ") + std::string(slice.name);
  }
  return names;
}

bool is_like_tpu_slice(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash < 2 || dash + 1 == name.size()) return false;
  const bool is_numbered = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dash) + 1, name.end(), is_digit);
  return name[0] == 'v' && is_digit(name[1]) && is_numbered;
}

}  // namespace fray::iris
