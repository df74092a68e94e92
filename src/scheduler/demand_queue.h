// DemandQueue: what clients wait for: per client and demand number, how many further leases it could use.
//
// Those of actors without resources, which are served at once, stand apart by worker key: a thousand of them cost a
// decision nothing.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  owns its demands; pointers stay valid until the demand is changed to zero or its client is dropped.
// Failure:    none; unknown demands are answered with nullptr.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/work_shape.h"
#include "scheduler/moment.h"

namespace fray::scheduler {

struct DemandChange {
  std::uint32_t demand = 0;  // the client's own number; one number means one shape for as long as it has leases
  std::uint32_t count = 0;   // further leases wanted now; absolute
  WorkShape shape;
  std::optional<std::uint32_t> leases;  // those that `count` is wanted beside; nullopt: those that the client has
  bool dedicated = false;               // for an actor: a worker of its own for its life; see lease_table.h
  bool needs_no_worker = false;         // for a reservation

  // It takes nothing from anybody, so it is served first and counts for nothing. Its count is 1.
  bool at_once() const { return dedicated && shape.resources.empty(); }
  // The further leases that are left to grant to a client that has `held`: some may have been on their way to it when it
  // asked.
  std::uint32_t left_to_grant(std::uint32_t held) const {
    const std::uint32_t crossed = leases && held > *leases ? held - *leases : 0;
    return count - std::min(count, crossed);
  }
};

struct Demand {
  ProcessId client = 0;
  DemandChange wanted;
  std::uint64_t since = 0;              // it waits since then, or since it last got or gave back a lease
  std::optional<Moment> waiting_since;  // as `since`; set by the first decision after that
  bool reported = false;                // as one that can never be met; cleared by a change

  const ResourceSet& asked() const { return wanted.shape.resources; }
  WorkerKeyId key() const { return wanted.shape.key; }
};

class DemandQueue {
 public:
  using Name = std::pair<ProcessId, std::uint32_t>;  // client, demand

  // A count of zero removes the demand.
  void change(ProcessId client, const DemandChange& wanted);
  void drop_client(ProcessId client);
  // One lease fewer is wanted; the demand goes behind equals.
  void granted(ProcessId client, std::uint32_t demand);
  void goes_behind(ProcessId client, std::uint32_t demand);
  // Those that wait and were not seen at it yet wait since now.
  void note_time(Moment now);

  Demand* find(ProcessId client, std::uint32_t demand);
  const Demand* find(ProcessId client, std::uint32_t demand) const;
  const Demand* first(ProcessId client) const;  // that with the lowest number; nullptr when it waits for nothing
  bool waits(ProcessId client) const { return first(client) != nullptr; }
  // Whether `holds` is true of one of the client's waiting demands.
  template <typename Predicate>
  bool any(ProcessId client, Predicate&& holds) const {
    auto each = demands_.lower_bound({client, 0});
    while (each != demands_.end() && each->first.first == client && !holds(each->second)) ++each;
    return each != demands_.end() && each->first.first == client;
  }
  std::vector<Demand*> all();
  std::vector<const Demand*> all() const;
  bool empty() const { return demands_.empty(); }
  // All but those that are served at once.
  const std::map<Name, Demand*>& in_turn() const { return in_turn_; }
  // Those, by worker key; none is empty.
  const std::map<WorkerKeyId, std::map<Name, Demand*>>& at_once() const { return at_once_; }
  std::optional<std::int32_t> highest_priority() const;

 private:
  void enter(const Name& name, Demand& demand);
  void leave(const Name& name, const Demand& demand);

  std::map<Name, Demand> demands_;
  std::map<Name, Demand*> in_turn_;
  std::map<WorkerKeyId, std::map<Name, Demand*>> at_once_;
  std::map<std::int32_t, std::uint32_t> priorities_;  // how many demands have each
  std::vector<Name> unseen_;                          // that no decision has seen waiting
  std::uint64_t order_ = 0;
};

}  // namespace fray::scheduler
