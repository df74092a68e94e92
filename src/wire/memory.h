// Shared memory: segments, their ranges, and how much a client may have.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "wire/control.h"

namespace fray::wire {

struct SegmentInfo {  // kAnnounceSegment (client -> node), kSegmentOpened (node -> client)
  SegmentId segment;
  std::uint64_t size = 0;
  std::string error;  // kSegmentOpened: why there is no descriptor; else empty

  FRAY_FIELDS(segment, size, error);
};

struct SegmentName {  // kOpenSegment, kEvict, kEvicted, kForgetSegment
  SegmentId segment;
  bool ok = true;  // kEvicted: the writer has unmapped it; false: it is still viewed there

  FRAY_FIELDS(segment, ok);
};

struct FreeRange {
  static constexpr ControlType kType = ControlType::kFreeRange;
  Location location;
  bool reuse = true;  // false: somebody may still look at it, so it must not be written again

  FRAY_FIELDS(location, reuse);
};

struct Reserve {  // kReserve, kUnreserve; bytes of new (cold) shared memory
  std::uint64_t bytes = 0;

  FRAY_FIELDS(bytes);
};

struct Reserved {
  static constexpr ControlType kType = ControlType::kReserved;
  std::uint64_t bytes = 0;
  std::string error;  // empty: granted; else the store is full, and who holds it

  FRAY_FIELDS(bytes, error);
};

struct YieldMemory {
  static constexpr ControlType kType = ControlType::kYieldMemory;
  // Memory is short: announce the segments that only you know, so that the node can spill them. False: descriptors are
  // short, and it is enough to give back what is kept for reuse.
  bool announce = true;

  FRAY_FIELDS(announce);
};

}  // namespace fray::wire
