// KeyKeeper: decides which worker keys are let go: their fork server and idle workers end, their number is forgotten.
//
// A key is in use while a task or an actor waits for a worker of it or has one, and the key of a driver itself while that
// is connected. That clients have defined it is no use: a program may define thousands, one after the other. A key out of
// use is kept for a while, for the next task or driver that is like the last one; of those kept only the ones used last.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  values only.
// Failure:    none; keys that it was not told of are in nobody's use.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/ids.h"

namespace fray::scheduler {

class KeyKeeper {
 public:
  static constexpr std::uint64_t kKeepNs = 10'000'000'000;
  static constexpr std::size_t kMostKept = 2;  // each is an interpreter, and perhaps idle workers

  // `existing`: those that cost anything, in any order. Returns which to let go now.
  std::vector<WorkerKeyId> surplus(const std::vector<WorkerKeyId>& existing, const std::set<WorkerKeyId>& used,
                                   std::uint64_t now_ns);
  // When to ask again at the latest; 0: nothing is kept that is out of use.
  std::uint64_t next_ns() const;

 private:
  std::map<WorkerKeyId, std::uint64_t> unused_since_;
};

}  // namespace fray::scheduler
