// Reservations: resources that are set aside together, and what work asks for in their place.
//
// A reservation takes amounts of the node and offers others while it lasts, such as "CPU@<its name>". Work that asks for
// those runs inside of it. A name with the mark is known to the node alone, which knows what reservations there are.
//
// Threading:  pure functions.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <string_view>

#include "model/resource_set.h"

namespace fray {

inline constexpr char kReservationMark = '@';

inline bool is_of_reservation(std::string_view resource) { return resource.find(kReservationMark) != resource.npos; }

// What is asked of the node itself, or what is asked of reservations.
inline ResourceSet part_of_reservations(const ResourceSet& asked, bool of_reservations) {
  ResourceSet part;
  for (const auto& [name, units] : asked.units()) {
    if (is_of_reservation(name) == of_reservations) part.set_units(name, units);
  }
  return part;
}

// What a demand that waits keeps from those behind it: all that it asks for, but of a reservation only what it lacks. It
// may ask for a part of the whole and for the same part of a bundle: while that bundle is taken, others may have the rest.
inline ResourceSet kept_while_waiting(const ResourceSet& asked, const ResourceSet& available) {
  ResourceSet kept;
  for (const auto& [name, units] : asked.units()) {
    if (available.units(name) < units || !is_of_reservation(name)) kept.set_units(name, units);
  }
  return kept;
}

}  // namespace fray
