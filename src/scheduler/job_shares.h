// JobShares: what jobs hold of the node, and which of them lend it at present.
//
// A job is the root of a tree: its processes are placed below its home, a process number that no process has. It lends
// its CPUs while something below it runs or waits, or while it said that it waits itself; nothing else.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  values only.
// Failure:    unknown homes are ignored.
#pragma once

#include <functional>
#include <map>

#include "model/ids.h"
#include "model/resource_set.h"

namespace fray::scheduler {

class JobShares {
 public:
  // Each returns what changes hands: to be taken from, or given to, what is free.
  ResourceSet begin(ProcessId home, ResourceSet resources);
  ResourceSet end(ProcessId home);

  // One more, or one fewer, of its processes waits for what is not below it.
  void waits(ProcessId home, bool begins);
  struct Change {
    ResourceSet lent;
    ResourceSet taken_back;
    bool any = false;
  };
  Change settle(const std::function<bool(ProcessId home)>& has_work);

  bool contains(ProcessId home) const { return shares_.contains(home); }
  bool empty() const { return shares_.empty(); }
  // What is not lent.
  ResourceSet held() const;

 private:
  struct Share {
    ResourceSet cpus;
    ResourceSet rest;
    int waiting = 0;
    bool lent = false;
  };
  std::map<ProcessId, Share> shares_;
};

}  // namespace fray::scheduler
