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

// Whether `name` is a bundle of the reservation that offers `whole`.
bool is_bundle_of(std::string_view name, std::string_view whole) {
  return name.size() > whole.size() && name.starts_with(whole) && name[whole.size()] == '.';
}

// The names that devices are given out by: where a name has bundles among the others, those in its place.
std::vector<std::pair<std::string, std::int64_t>> names_of_devices(const ResourceSet& resources) {
  std::vector<std::pair<std::string, std::int64_t>> names;
  for (const auto& [name, units] : resources.units()) {
    if (device_kind(name).empty()) continue;
    const bool has_bundle = std::any_of(resources.units().begin(), resources.units().end(),
                                        [&name = name](const auto& each) { return is_bundle_of(each.first, name); });
    if (!has_bundle) names.emplace_back(name, units);
  }
  return names;
}

}  // namespace

DeviceTable::DeviceTable(const ResourceSet& total) {
  for (std::string_view kind : kDeviceKinds) {
    auto found = total.units().find(kind);
    if (found == total.units().end()) continue;
    std::vector<Device>& devices = devices_[std::string(kind)];
    devices.resize(static_cast<std::size_t>(found->second / kOne));
    for (std::uint32_t index = 0; index < devices.size(); ++index) devices[index].index = index;
  }
}

std::optional<std::vector<DeviceTable::Share>> DeviceTable::choose(const ResourceSet& asked) const {
  std::vector<Share> chosen;
  for (const auto& [wanted, units] : names_of_devices(asked)) {
    const auto [count, share] = parts(units);
    // Prefer devices that no blocked worker will want back, then the fullest, then the lowest index.
    std::vector<std::tuple<std::uint32_t, std::int64_t, std::string_view, std::size_t>> room;
    for (const auto& [name, devices] : devices_) {
      if (name != wanted && !is_bundle_of(name, wanted)) continue;
      for (std::size_t place = 0; place < devices.size(); ++place) {
        const Device& device = devices[place];
        if (device.free >= share) room.emplace_back(device.yielded, device.free, name, place);
      }
    }
    if (room.size() < count) return std::nullopt;
    std::sort(room.begin(), room.end());
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back({std::string(std::get<2>(room[i])), std::get<3>(room[i]), share});
    }
  }
  return chosen;
}

DeviceSet DeviceTable::devices_of(const std::vector<Share>& shares) const {
  DeviceSet devices;
  for (const Share& share : shares) {
    devices[std::string(device_kind(share.name))].push_back(devices_.at(share.name)[share.place].index);
  }
  for (auto& [kind, indices] : devices) std::sort(indices.begin(), indices.end());
  return devices;
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
  std::optional<std::vector<Share>> chosen = choose(asked);
  if (!chosen || chosen->empty()) return {};
  left(worker);
  DeviceSet devices = devices_of(*chosen);
  Holder& holder = holders_[worker];
  holder = {.shares = std::move(*chosen), .devices = std::move(devices), .actor = actor};
  change(holder, -1);
  return holder.devices;
}

void DeviceTable::change(const Holder& holder, int sign) {
  for (const Share& share : holder.shares) device_of(share).free += sign * share.units;
}

void DeviceTable::yield(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end() || found->second.yielded) return;
  found->second.yielded = true;
  change(found->second, 1);
  for (const Share& share : found->second.shares) ++device_of(share).yielded;
}

void DeviceTable::resume(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end() || !found->second.yielded) return;
  found->second.yielded = false;
  change(found->second, -1);
  for (const Share& share : found->second.shares) --device_of(share).yielded;
}

void DeviceTable::left(ProcessId worker) {
  auto found = holders_.find(worker);
  if (found == holders_.end()) return;
  resume(worker);
  change(found->second, 1);
  holders_.erase(found);
}

void DeviceTable::offer(ProcessId owner, const ResourceSet& offered) {
  auto found = holders_.find(owner);
  if (found == holders_.end()) return;
  std::vector<Share> rest = found->second.shares;
  auto names = names_of_devices(offered);
  // Whole devices first, so that shares leave them whole.
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, units] : names) {
    auto [count, share] = parts(units);
    // The fullest that has room; where none has, the emptiest, which then has more to do than a device can.
    const auto is_better = [share = share](const Share& a, const Share& b) {
      const bool has_room = a.units >= share;
      if (has_room != (b.units >= share)) return has_room;
      return has_room ? a.units < b.units : a.units > b.units;
    };
    for (; count > 0; --count) {
      Share* best = nullptr;
      for (Share& each : rest) {
        if (each.name == device_kind(name) && (best == nullptr || is_better(each, *best))) best = &each;
      }
      if (best == nullptr) return;
      best->units -= share;
      devices_[name].push_back({.index = device_of(*best).index, .free = share});
    }
  }
}

void DeviceTable::withdraw(const ResourceSet& offered) {
  for (const auto& [name, units] : names_of_devices(offered)) {
    auto devices = devices_.find(name);
    if (devices == devices_.end()) continue;
    for (auto& [worker, holder] : holders_) {
      for (Share& share : holder.shares) {
        if (share.name != name) continue;
        share = {std::string(device_kind(name)), devices->second[share.place].index, share.units};
        if (holder.yielded) {
          ++device_of(share).yielded;
        } else {
          device_of(share).free -= share.units;
        }
      }
    }
    devices_.erase(devices);
  }
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
