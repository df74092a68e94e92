// KeptFunctions: decides which functions a worker keeps: all that the client of its lease has given it and not told it
// to forget, and as many of former leases as there is room for, so that the next lease finds them loaded.
//
//   for (std::uint64_t dropped : kept.give(id, bytes)) ...  // kFunction arrived
//   for (std::uint64_t dropped : kept.forget(id)) ...       // kForget arrived
//   kept.lease_ended();
//
// Threading:  the task thread alone.
// Ownership:  knows ids and sizes only; the executor has the functions.
// Failure:    none.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "wire/direct.h"

namespace fray::worker {

class KeptFunctions {
 public:
  explicit KeptFunctions(std::size_t most_bytes = wire::kMostFunctionBytes) : most_bytes_(most_bytes) {}

  std::vector<std::uint64_t> give(std::uint64_t id, std::size_t payload_bytes) {
    auto known = places_.find(id);
    if (known != places_.end()) {
      given_.splice(given_.end(), known->second->given ? given_ : spare_, known->second);
      known->second->given = true;
      return {};
    }
    given_.push_back({id, payload_bytes + wire::kFunctionOverheadBytes, true});
    places_.emplace(id, std::prev(given_.end()));
    bytes_ += given_.back().bytes;
    return make_room();
  }

  std::vector<std::uint64_t> forget(std::uint64_t id) {
    auto known = places_.find(id);
    if (known == places_.end() || !known->second->given) return {};
    known->second->given = false;
    spare_.splice(spare_.end(), given_, known->second);
    return make_room();
  }

  // The client of the next lease gives the functions that it needs again.
  void lease_ended() {
    for (Kept& kept : given_) kept.given = false;
    spare_.splice(spare_.end(), given_);
  }

 private:
  struct Kept {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
    bool given = false;  // by the client of this lease, which counts on it
  };

  std::vector<std::uint64_t> make_room() {
    std::vector<std::uint64_t> dropped;
    while (bytes_ > most_bytes_ && !spare_.empty()) {
      dropped.push_back(spare_.front().id);
      bytes_ -= spare_.front().bytes;
      places_.erase(spare_.front().id);
      spare_.pop_front();
    }
    return dropped;
  }

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;  // of all
  std::list<Kept> given_;
  std::list<Kept> spare_;  // oldest first
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
};

}  // namespace fray::worker
