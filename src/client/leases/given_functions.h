// GivenFunctions: which functions a worker has been given on one direct socket, so that each is sent once.
//
//   if (!given.use(id)) {
//     for (std::uint64_t other : given.add(id, bytes)) ...  // kForget, then kFunction
//   }
//
// A worker keeps functions up to a number of bytes; those that were used least recently make room for a new one. The
// client decides which, and says so on the socket in the order of the tasks, so that both sides always agree on what is
// kept.
//
// Threading:  guarded by Client's mutex.
// Ownership:  knows ids and sizes only.
// Failure:    none; a function that is larger than the limit is kept alone.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "wire/direct.h"

namespace fray::client {

class GivenFunctions {
 public:
  explicit GivenFunctions(std::size_t most_bytes = wire::kMostFunctionBytes) : most_bytes_(most_bytes) {}

  // A cheap question to ask before use(), because most tasks call the same function as the task before.
  bool used_last(std::uint64_t id) const { return id == last_; }

  // Whether the worker has the function, which then is the one that was used most recently.
  bool use(std::uint64_t id) {
    auto known = places_.find(id);
    if (known == places_.end()) return false;
    order_.splice(order_.end(), order_, known->second);
    last_ = id;
    return true;
  }

  // Notes a function that use() did not know. Returns those that the worker has to forget for it.
  std::vector<std::uint64_t> add(std::uint64_t id, std::size_t payload_bytes) {
    std::vector<std::uint64_t> forgotten;
    const std::size_t bytes = payload_bytes + wire::kFunctionOverheadBytes;
    while (!order_.empty() && bytes_ + bytes > most_bytes_) {
      forgotten.push_back(order_.front().id);
      bytes_ -= order_.front().bytes;
      places_.erase(order_.front().id);
      order_.pop_front();
    }
    order_.push_back({id, bytes});
    places_.emplace(id, std::prev(order_.end()));
    bytes_ += bytes;
    last_ = id;
    return forgotten;
  }

 private:
  struct Given {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
  };

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;  // 0: none
  std::list<Given> order_;  // least recently used first
  std::unordered_map<std::uint64_t, std::list<Given>::iterator> places_;
};

}  // namespace fray::client
