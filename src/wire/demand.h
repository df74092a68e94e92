// Demands: how many workers a client could use, and of which shape its work is.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "model/work_shape.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

// How many *more* leases the client could use now, for one shape. Absolute; replaces the last one of
// the same number. A grant lowers it by one.
struct Demand {
  static constexpr ControlType kType = ControlType::kDemand;
  std::uint32_t demand = 0;  // the client's own number
  std::uint32_t count = 0;
  WorkShape shape;
  void encode(ByteWriter& out) const;
  static Result<Demand> decode(std::string_view body);
};

}  // namespace fray::wire
