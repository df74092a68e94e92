// JobShares: what jobs hold of the node, which of them lend it at present, and what is left for further jobs.
//
// A job holds resources in the name of a home, a process number that no process has: the root of the tree below which its
// processes join as clients. It lends its CPUs while something below it runs or waits, or while it said that it waits
// itself; nothing else. What it holds may push what is free below zero, as a resumed lease does.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  owns its records; the state must outlive it.
// Failure:    a home that begins twice or ends unknown contradicts the state.
#pragma once

#include <map>

#include "scheduler/lease_state.h"

namespace fray::scheduler {

class JobShares {
 public:
  explicit JobShares(LeaseState& state) : state_(state) {}

  // Returns the devices that the job gets.
  DeviceSet started(ProcessId home, const ResourceSet& resources);
  // One more, or one fewer, of its processes waits for what is not below it.
  void waits(ProcessId home, bool begins);
  void ended(ProcessId home);

  // The decision of a round: CPUs of jobs change hands.
  void lend();

  // What jobs may take that have not started. The tasks of jobs come before them; those of other programs do not keep
  // CPUs from them, as a flood of tasks would for ever.
  ResourceSet room() const;

 private:
  struct Share {
    ResourceSet cpus;
    ResourceSet rest;
    int waiting = 0;
    bool lent = false;

    ResourceSet held() const;
  };
  bool is_job(ProcessId client) const { return shares_.contains(state_.ledger.tree(client)); }

  LeaseState& state_;
  std::map<ProcessId, Share> shares_;
};

}  // namespace fray::scheduler
