// LeaseLedger: which leases exist, what they hold, and what is free.
//
// A lease whose worker is blocked holds nothing. A blocked lease that resumes takes its resources back, below zero if
// need be. What a lease holds comes back exactly once, whether it was blocked or not. A dedicated lease keeps what it
// holds while it is blocked.
//
// The clients of a node form trees: a worker stands below the client that leased it, an actor's home below the parent
// it was given, a driver is a root. Fairness between trees is what keeps one program's nested work from starving another
// program. There a dedicated lease that holds no resources counts for nothing.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  owns its leases; a pointer is valid until the lease ends.
// Failure:    unknown leases are answered with nullptr; end() of one is ignored.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/work_shape.h"

namespace fray::scheduler {

struct HeldLease {
  LeaseId id = 0;
  ProcessId client = 0;
  std::uint32_t demand = 0;
  ProcessId worker = 0;  // 0: of a reservation
  WorkShape shape;
  bool dedicated = false;
  bool blocked = false;
  bool orphaned = false;  // its client is gone; it ends with its worker

  bool holds_nothing() const { return blocked && !dedicated; }
  bool takes_turns() const { return !dedicated || !shape.resources.empty(); }
};

// The leases that one client holds for one of its demands. A dedicated lease without resources is in no group.
struct LeaseGroup {
  std::uint32_t running = 0;
  std::uint32_t blocked = 0;
  std::uint32_t asked = 0;  // to be given back, and not given back yet; never more than the group has
  WorkShape shape;          // of one lease
  bool dedicated = false;
};

class LeaseLedger {
 public:
  using GroupName = std::pair<ProcessId, std::uint32_t>;  // client, demand

  explicit LeaseLedger(ResourceSet total) : total_(std::move(total)), free_(total_), beside_actors_(total_) {}

  // `lease.id` is assigned.
  LeaseId grant(HeldLease lease);
  void end(LeaseId lease);
  // False when it was so already.
  bool set_blocked(LeaseId lease, bool blocked);
  // The client is gone. Returns its leases.
  std::vector<LeaseId> orphan(ProcessId client);
  void asked_back(GroupName group, std::uint32_t count);
  // What jobs hold besides their leases.
  void set_aside(const ResourceSet& resources) { free_.subtract(resources); }
  void put_back(const ResourceSet& resources) { free_.add(resources); }
  // What a reservation offers is there in all from its beginning to its end.
  void announce(const ResourceSet& offered) {
    total_.add(offered);
    beside_actors_.add(offered);
  }
  void withdraw(const ResourceSet& offered) {
    total_.subtract(offered);
    beside_actors_.subtract(offered);
  }

  const HeldLease* find(LeaseId lease) const;
  const ResourceSet& total() const { return total_; }
  const ResourceSet& free() const { return free_; }
  // What is free once all leases are back except the dedicated ones.
  const ResourceSet& beside_actors() const { return beside_actors_; }
  const std::map<GroupName, LeaseGroup>& groups() const { return groups_; }
  const std::unordered_map<LeaseId, HeldLease>& leases() const { return leases_; }
  std::uint32_t running(ProcessId client) const;
  std::uint32_t held(const GroupName& group) const;
  std::uint32_t blocked() const { return blocked_; }  // dedicated ones not counted

  // The root above `client`: itself unless it is a leased worker or has a parent.
  ProcessId tree(ProcessId client) const;
  void place_below(ProcessId client, ProcessId parent) { parents_[client] = parent; }
  std::map<ProcessId, std::uint32_t> running_by_tree() const;
  // Order number of the tree's last grant; 0: none yet.
  std::uint64_t last_served(ProcessId tree) const;
  // Those below it that are no leased workers become roots.
  void forget_tree(ProcessId tree);

 private:
  void leave_group(const HeldLease& lease, bool given_back);

  ResourceSet total_;
  ResourceSet free_;
  ResourceSet beside_actors_;
  std::unordered_map<LeaseId, HeldLease> leases_;
  std::unordered_map<ProcessId, LeaseId> lease_of_worker_;
  std::map<GroupName, LeaseGroup> groups_;
  std::unordered_map<ProcessId, std::uint64_t> served_;
  std::unordered_map<ProcessId, ProcessId> parents_;
  LeaseId last_lease_ = 0;
  std::uint32_t blocked_ = 0;
};

}  // namespace fray::scheduler
