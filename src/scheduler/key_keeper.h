// KeyKeeper: decides which worker keys are let go: their fork server and idle workers end, their number is forgotten.
//
// A key is in use while a driver has defined it, while a worker of it is leased, and while a worker whose own key is in
// use has defined it. A key out of use is kept for a while, for the next driver that is like the last one; of those kept
// only the ones used last.
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

// A client's definition of a key.
struct KeyReference {
  WorkerKeyId key = 0;
  WorkerKeyId own = 0;  // the key of the worker that defined it; 0: a driver did
  bool leased = false;  // that worker is leased, and is not about to end
};

std::set<WorkerKeyId> keys_in_use(const std::vector<KeyReference>& references);

class KeyKeeper {
 public:
  static constexpr std::uint64_t kKeepNs = 10'000'000'000;
  static constexpr std::size_t kMostKept = 4;

  // `existing` in any order. Returns those to let go now.
  std::vector<WorkerKeyId> surplus(const std::vector<WorkerKeyId>& existing, const std::set<WorkerKeyId>& used,
                                   std::uint64_t now_ns);
  // When to ask again at the latest; 0: nothing is kept that is out of use.
  std::uint64_t next_ns() const;

 private:
  std::map<WorkerKeyId, std::uint64_t> unused_since_;
};

}  // namespace fray::scheduler
