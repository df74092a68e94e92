// What a segment's number says about it: slabs are shared by small objects, all others hold one object each.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none; a hostile writer can lie, which changes how its own segments are cached and spilled, nothing else.
#pragma once

#include <cstdint>

#include "model/ids.h"

namespace fray::store {

inline constexpr std::uint64_t kSlabBytes = 16ull << 20;
inline constexpr std::uint64_t kOwnSegmentBytes = 1ull << 20;  // objects from this size on have a segment of their own
inline constexpr std::uint64_t kObjectAlignment = 64;
inline constexpr std::uint32_t kSlabNumberBit = 1u << 31;

constexpr bool is_slab(SegmentId segment) { return (segment.number & kSlabNumberBit) != 0; }

}  // namespace fray::store
