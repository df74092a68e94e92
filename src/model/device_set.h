// DeviceSet: which devices, by kind and index. Kinds are the resources whose units can be told apart: one GPU is not
// another, one CPU is.
//
//   {"GPU": [0, 3]}
//
// Threading:  a value.
// Ownership:  owns its names.
// Failure:    none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fray {

class ResourceSet;

using DeviceSet = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

inline constexpr std::array<std::string_view, 2> kDeviceKinds = {"GPU", "TPU"};

// The kind of the devices that a resource stands for, also under the name of a reservation ("GPU@a"); empty: of none.
std::string_view device_kind(std::string_view resource);

bool asks_for_devices(const ResourceSet& resources);

}  // namespace fray
