// The requests to queues and their answers.
//
// Threading:  values.
// Ownership:  own their strings.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::queue {

using Moment = std::chrono::nanoseconds;  // of a monotonic clock with any origin

struct Now {
  Moment steady{0};
  std::int64_t unix_ns = 0;  // for people, and for times that are stored
};

// The number of a queue, an item or a lease. Numbers are assigned in ascending order and never used again.
using Number = std::uint64_t;

// The client, and the number of its request. A request that is repeated because its answer was lost has the same
// sequence and gets the same answer. This does not hold for a client without a name.
struct Caller {
  std::string client = {};
  std::uint64_t sequence = 0;
};

enum class Verb : unsigned char { kList, kShow, kMake, kRemove, kPurge, kPush, kPeek, kPop, kDone, kRelease };

struct Request {
  Verb verb = Verb::kList;
  std::string queue = {};  // its name; of none for kList
  Caller caller = {};
  std::vector<std::string> items = {};   // kPush
  std::vector<std::string> leases = {};  // kDone, kRelease: their ids
  std::uint32_t most = 1;                // kPop: leases at once
  Moment lease_time{0};                  // kPop: how long a lease lasts
  Moment wait{0};                        // kPop: how long to wait for an item
  bool leased_too = false;               // kPurge: items that are leased, too
};

struct GivenItem {
  Number item = 0;
  std::string lease_id = {};  // empty for kPeek
  std::int64_t begun_unix_ns = 0;
  std::string bytes = {};  // of the item; the store of the items fills it in
};

struct QueueView {
  std::string name = {};
  std::uint64_t waiting = 0;
  std::uint64_t leased = 0;
  std::uint64_t bytes = 0;    // of all its items
  std::uint64_t waiters = 0;  // that wait for an item
  std::int64_t made_unix_ns = 0;
};

struct Answer {
  std::uint64_t count = 0;                // kPush, kDone, kRelease, kPurge: items
  std::vector<GivenItem> given = {};      // kPop, kPeek
  std::vector<std::string> invalid = {};  // kDone, kRelease: leases that are not valid any more
  std::vector<QueueView> queues = {};     // kList, kShow, kMake, kRemove
};

// Names are part of paths and of command lines.
inline constexpr std::size_t kLongestName = 100;
Status check_name(const std::string& name);

// Limits of one request.
inline constexpr std::uint32_t kMostAtOnce = 1000;
inline constexpr std::uint64_t kMostItemBytes = std::uint64_t{4} << 20;  // of one item, and of what one pop returns
inline constexpr Moment kLongestWait = std::chrono::seconds(60);         // to wait longer, a client asks again
inline constexpr Moment kLongestLease = std::chrono::hours(24 * 365 * 100);
inline constexpr std::size_t kLongestClient = 64;

}  // namespace fray::queue
