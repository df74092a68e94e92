// Shared memory: segments, their ranges, and how much a client may have.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/ids.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

struct SegmentInfo {  // kAnnounceSegment (client -> node), kSegmentOpened (node -> client)
  SegmentId segment;
  std::uint64_t size = 0;
  std::string error;  // kSegmentOpened: why there is no descriptor; else empty
  void encode(ByteWriter& out) const;
  static Result<SegmentInfo> decode(std::string_view body);
};

struct SegmentName {  // kOpenSegment, kEvict, kEvicted, kForgetSegment
  SegmentId segment;
  bool ok = true;  // kEvicted: the writer has no map and no view of it any more
  void encode(ByteWriter& out) const;
  static Result<SegmentName> decode(std::string_view body);
};

struct FreeRange {
  static constexpr ControlType kType = ControlType::kFreeRange;
  Location location;
  bool reuse = true;  // false: somebody may still look at it, so it must not be written again
  void encode(ByteWriter& out) const;
  static Result<FreeRange> decode(std::string_view body);
};

struct Reserve {  // kReserve, kUnreserve; bytes of new (cold) shared memory
  std::uint64_t bytes = 0;
  void encode(ByteWriter& out) const;
  static Result<Reserve> decode(std::string_view body);
};

struct Reserved {
  static constexpr ControlType kType = ControlType::kReserved;
  std::uint64_t bytes = 0;
  std::string error;  // empty: granted; else the store is full, and who holds it
  void encode(ByteWriter& out) const;
  static Result<Reserved> decode(std::string_view body);
};

struct YieldMemory {
  static constexpr ControlType kType = ControlType::kYieldMemory;
  bool announce = true;  // memory is short: announce what is yours alone, so that it can be spilled
  void encode(ByteWriter& out) const;
  static Result<YieldMemory> decode(std::string_view body);
};

}  // namespace fray::wire
