#include "scheduler/device_table.h"

#include <algorithm>
#include <tuple>

namespace fray::scheduler {

namespace {

constexpr std::int64_t kOne = ResourceSet::kUnitsPerOne;

// Splits an amount into the number of devices and the amount of each.
std::pair<std::size_t, std::int64_t> parts(std::int64_t units) {
  if (units < kOne) return {1, units};
  return {static_cast<std::size_t>((units + kOne - 1) / kOne), kOne};
}

}  // namespace

DeviceTable::DeviceTable(const ResourceSet& total) {
  for (std::string_view kind : kDeviceKinds) {
    auto found = total.units().find(kind);
    if (found == total.units().end()) continue;
    devices_[std::string(kind)].resize(static_cast<std::size_t>(found->second / kOne));
  }
}

std::optional<DeviceSet> DeviceTable::choose(const ResourceSet& asked) const {
  DeviceSet chosen;
  for (std::string_view kind : kDeviceKinds) {
    auto wanted = asked.units().find(kind);
    if (wanted == asked.units().end()) continue;
    const auto [count, share] = parts(wanted->second);
    // Prefer devices that no blocked worker will want back, then the fullest, then the lowest index.
    std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> room;
    if (auto known = devices_.find(kind); known != devices_.end()) {
      for (std::uint32_t index = 0; index < known->second.size(); ++index) {
        const Device& device = known->second[index];
        if (device.free >= share) room.emplace_back(device.yielded, device.free, index);
      }
    }
    if (room.size() < count) return std::nullopt;
    std::sort(room.begin(), room.end());
    std::vector<std::uint32_t>& indices = chosen[std::string(kind)];
    for (std::size_t i = 0; i < count; ++i) indices.push_back(std::get<2>(room[i]));
    std::sort(indices.begin(), indices.end());
  }
  return chosen;
}

bool DeviceTable::fits_beside_actors(const ResourceSet& asked) const {
  if (!asks_for_devices(asked)) return true;
  DeviceTable beside = *this;
  for (const auto& [worker, holder] : holders_) {
    if (!holder.actor) beside.left(worker);
  }
  return beside.fits(asked);
}

DeviceSet DeviceTable::take(ProcessId worker, const ResourceSet& asked, bool actor) {
  std::optional<DeviceSet> chosen = choose(asked);
  if (!chosen || chosen->empty()) return {};
  left(worker);
  Holder& holder = holders_[worker];
  holder.devices = std::move(*chosen);
  holder.actor = actor;
  for (const auto& [kind, indices] : holder.devices) {
    holder.units[kind] = parts(asked.units().find(kind)->second).second;
  }
  change(holder, -1);
  return holder.devices;
}

void DeviceTable::change(const Holder& holder, int sign) {
  for (const auto& [kind, indices] : holder.devices) {
    for (std::uint32_t index : indices) devices_.at(kind)[index].free += sign * holder.units.at(kind);
  }
}

void DeviceTable::yield(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end() || found->second.yielded) return;
  found->second.yielded = true;
  change(found->second, 1);
  for (const auto& [kind, indices] : found->second.devices) {
    for (std::uint32_t index : indices) ++devices_.at(kind)[index].yielded;
  }
}

void DeviceTable::resume(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end() || !found->second.yielded) return;
  found->second.yielded = false;
  change(found->second, -1);
  for (const auto& [kind, indices] : found->second.devices) {
    for (std::uint32_t index : indices) --devices_.at(kind)[index].yielded;
  }
}

void DeviceTable::left(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end()) return;
  resume(worker);
  change(found->second, 1);
  holders_.erase(found);
}

ResourceSet DeviceTable::with_fragments(const ResourceSet& asked) const {
  ResourceSet needed = asked;
  for (const auto& [kind, devices] : devices_) {
    auto wanted = asked.units().find(kind);
    if (wanted == asked.units().end() || wanted->second < kOne) continue;
    std::int64_t units = wanted->second;
    for (const Device& device : devices) units += device.free < kOne ? std::max<std::int64_t>(device.free, 0) : 0;
    needed.set_units(kind, units);
  }
  return needed;
}

const DeviceSet* DeviceTable::of(ProcessId worker) const {
  auto found = holders_.find(worker);
  return found == holders_.end() ? nullptr : &found->second.devices;
}

}  // namespace fray::scheduler
