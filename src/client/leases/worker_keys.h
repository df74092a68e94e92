// WorkerKeys: the numbers by which a client names worker keys to its node, and how often each is held.
//
//   auto [number, is_new] = keys.hold(key);    // is_new: the node is to be told
//   if (keys.release(number)) ...              // that was the last hold: the node can be told to forget the number
//
// Threading:  guarded by the client's mutex.
// Ownership:  owns copies of the keys. A number that was released by all is never used again.
// Failure:    none; numbers that nobody holds are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "wire/worker_key.h"

namespace fray::client {

class WorkerKeys {
 public:
  struct Held {
    std::uint32_t number = 0;
    bool is_new = false;
  };

  // The key of workers like the client itself: number 0, which is never released.
  void hold_own(const wire::WorkerKey& key);
  Held hold(const wire::WorkerKey& key);
  void hold_again(std::uint32_t number);
  // True: that was the last hold.
  bool release(std::uint32_t number);

 private:
  using Numbers = std::map<wire::WorkerKey, std::uint32_t>;
  struct Use {
    Numbers::iterator key;
    std::uint64_t holds = 0;
  };

  Numbers numbers_;
  std::unordered_map<std::uint32_t, Use> uses_;
  std::uint32_t next_ = 1;
};

}  // namespace fray::client
