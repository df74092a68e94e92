// The node's answer to a hello.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include "model/resource_set.h"
#include "wire/resources.h"
#include "wire/session.h"

namespace fray::wire {

struct Welcome {
  static constexpr ControlType kType = ControlType::kWelcome;
  Session session;
  ResourceSet total;

  FRAY_FIELDS(session, total);
};

}  // namespace fray::wire
