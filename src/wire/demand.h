// Demands: how many workers a client could use, and of which shape its work is.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>

#include "model/work_shape.h"
#include "wire/control.h"
#include "wire/resources.h"

namespace fray::wire {

// How many *more* leases the client could use now, for one shape, beside those that it has. It replaces the last message
// with the same number, and each grant lowers it by one, also a grant that crosses the message.
struct Demand {
  static constexpr ControlType kType = ControlType::kDemand;
  std::uint32_t demand = 0;  // the client's own number
  std::uint32_t count = 0;
  std::uint32_t leases = 0;  // of this number, that it has been granted and has not given back
  WorkShape shape;

  FRAY_FIELDS(demand, count, leases, shape);
};

}  // namespace fray::wire
