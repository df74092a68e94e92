#include "model/device_set.h"

#include <algorithm>

#include "model/reservation.h"
#include "model/resource_set.h"

namespace fray {

std::string_view device_kind(std::string_view resource) {
  const std::string_view kind = resource.substr(0, resource.find(kReservationMark));
  return std::find(kDeviceKinds.begin(), kDeviceKinds.end(), kind) == kDeviceKinds.end() ? std::string_view() : kind;
}

bool asks_for_devices(const ResourceSet& resources) {
  return std::any_of(resources.units().begin(), resources.units().end(),
                     [](const auto& each) { return !device_kind(each.first).empty(); });
}

}  // namespace fray
