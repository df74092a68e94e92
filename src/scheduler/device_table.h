// DeviceTable: decides which devices a worker gets, and knows who has them.
//
// A worker is bound to its devices for its life: what a process has loaded into a GPU stays there until it ends. So a
// lease with devices gets a worker that never ran anything, and that worker ends with the lease. Such workers have a
// worker key of their own beside that of their like (device_key).
//
// A whole amount is that many devices for the worker alone; a fraction is a share of one device, the fullest that still
// has room. A blocked worker yields its devices: others may get them, after all devices that nobody yielded. When it
// resumes it has them again at once, so a device may be shared then, as a CPU would be. An actor never yields.
//
// A reservation holds devices as a worker does, and offers them by names of its own: "GPU@a", and "GPU@a.0" for its
// bundle 0. Each bundle has devices, or shares of them, of its own. Who asks for a bundle gets some of those; who asks
// for "GPU@a" alone gets some of any bundle.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  values only.
// Failure:    take() of what does not fit returns nothing; unknown workers are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/device_set.h"
#include "model/ids.h"
#include "model/resource_set.h"

namespace fray::scheduler {

inline constexpr WorkerKeyId kDeviceKeyBit = WorkerKeyId{1} << 31;
inline WorkerKeyId device_key(WorkerKeyId key) { return key | kDeviceKeyBit; }
inline WorkerKeyId base_key(WorkerKeyId key) { return key & ~kDeviceKeyBit; }
// The key of workers for such a lease.
inline WorkerKeyId key_for(WorkerKeyId key, const ResourceSet& resources) {
  return asks_for_devices(resources) ? device_key(key) : key;
}

class DeviceTable {
 public:
  explicit DeviceTable(const ResourceSet& total);

  bool fits(const ResourceSet& asked) const { return choose(asked).has_value(); }
  // Whether it would fit if only actors had devices.
  bool fits_beside_actors(const ResourceSet& asked) const;
  // An actor's worker does not give devices back when they are asked for.
  DeviceSet take(ProcessId worker, const ResourceSet& asked, bool actor = false);
  void yield(ProcessId worker);
  void resume(ProcessId worker);
  void left(ProcessId worker);
  // Gives out what `owner` holds by the names of a reservation, until they are withdrawn.
  void offer(ProcessId owner, const ResourceSet& offered);
  // Takes those names back. Workers keep what they hold of these devices until they have left.
  void withdraw(const ResourceSet& offered);

  // `asked`, and for kinds of which it wants whole devices also what is free on devices that are not wholly free: as much
  // must be free in all before it is sure to fit.
  ResourceSet with_fragments(const ResourceSet& asked) const;
  // The devices that a worker is bound to; nullptr when it has none.
  const DeviceSet* of(ProcessId worker) const;

 private:
  struct Device {
    std::uint32_t index = 0;
    std::int64_t free = ResourceSet::kUnitsPerOne;  // may be below zero
    std::uint32_t yielded = 0;                      // workers that will want it back
  };
  // So much of the device at a place in the list of that name.
  struct Share {
    std::string name;
    std::size_t place = 0;
    std::int64_t units = 0;
  };
  struct Holder {
    std::vector<Share> shares;
    DeviceSet devices;
    bool yielded = false;
    bool actor = false;
  };

  std::optional<std::vector<Share>> choose(const ResourceSet& asked) const;
  DeviceSet devices_of(const std::vector<Share>& shares) const;
  Device& device_of(const Share& share) { return devices_.at(share.name)[share.place]; }
  void change(const Holder& holder, int sign);

  // By the names of resources. Those of a reservation's bundles are parts of devices that its owner holds.
  std::map<std::string, std::vector<Device>, std::less<>> devices_;
  std::map<ProcessId, Holder> holders_;
};

}  // namespace fray::scheduler
