#include "model/device_set.h"

#include "model/resource_set.h"

namespace fray {

bool asks_for_devices(const ResourceSet& resources) {
  for (std::string_view kind : kDeviceKinds) {
    if (resources.units().contains(kind)) return true;
  }
  return false;
}

}  // namespace fray
