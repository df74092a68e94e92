// RemovalQueue: releases and deaths that wait for their grace round.
//
// A removal read during one round of the node's loop may have been preceded by an addition in a socket that this round
// had already passed. So it takes effect at the end of the next full round: round_drained() hands out what was there
// when it was called last time.
//
// Threading:  confined to the HolderTable that owns it.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/ids.h"

namespace fray::object {

struct Hold {
  ProcessId process = 0;
  ObjectId object;
  friend bool operator==(const Hold&, const Hold&) = default;
};

struct HoldHash {
  std::size_t operator()(const Hold& hold) const noexcept {
    return std::hash<ObjectId>()(hold.object) ^ (static_cast<std::size_t>(hold.process) * 0x9E3779B97F4A7C15ull);
  }
};

struct Removals {
  std::vector<Hold> releases;
  std::vector<ProcessId> departures;
  std::vector<ObjectId> suspects;  // entries that may have no holder, or no living owner
};

class RemovalQueue {
 public:
  void release(const Hold& hold);
  // The process holds the object again: a release that waits is void, since both came through one socket.
  void cancel(const Hold& hold);
  void depart(ProcessId process) { fresh_.departures.push_back(process); }
  void suspect(ObjectId object) { fresh_.suspects.push_back(object); }

  bool empty() const;
  // Called at the end of a round; returns the removals that are due.
  Removals next_round();

 private:
  Removals fresh_;                           // read in this round
  Removals aged_;                            // read in the round before
  std::vector<std::uint64_t> fresh_orders_;  // of fresh_.releases, one each
  std::vector<std::uint64_t> aged_orders_;
  std::unordered_map<Hold, std::uint64_t, HoldHash> waiting_;  // the release that counts, by its order number
  std::uint64_t order_ = 0;
};

}  // namespace fray::object
