// Reservations (model/reservation.h): how they begin and end. The node's status says which have what they want.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <string>

#include "wire/control.h"
#include "wire/resources.h"

namespace fray::wire {

struct SetAside {
  static constexpr ControlType kType = ControlType::kSetAside;
  std::string name;  // drawn by the client, and never given twice
  ResourceSet resources;
  ResourceSet offered;    // in their place; each name has the mark
  std::string about;      // what programs know it by, as they wrote it
  bool detached = false;  // it outlives the program

  FRAY_FIELDS(name, resources, offered, about, detached);
};

struct PutBack {
  static constexpr ControlType kType = ControlType::kPutBack;
  std::string name;

  FRAY_FIELDS(name);
};

}  // namespace fray::wire
