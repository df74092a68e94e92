// Commands of the QueueTable: the changes to store, and the answers to send. An answer follows the changes that it
// depends on: all commands before it must be stored before it is sent.
//
// Threading:  values.
// Ownership:  own their strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "queue/queue_values.h"

namespace fray::queue {

// A request that waits for an answer, as the owner of the table numbers it.
using AskId = std::uint64_t;  // never 0

struct KeepQueue {
  Number queue = 0;
  std::string name = {};
  std::int64_t made_unix_ns = 0;
};
struct DropQueue {  // with its items and leases
  Number queue = 0;
};
struct DropWaiting {  // items that wait; `leased_too`: all of them
  Number queue = 0;
  bool leased_too = false;
};
struct KeepItem {
  Number queue = 0;
  Number item = 0;
  std::string bytes = {};
};
struct DropItem {  // with its lease
  Number item = 0;
};
struct KeepLease {
  Number item = 0;
  Number lease = 0;
  std::int64_t begun_unix_ns = 0;
  std::int64_t length_ns = 0;
};
struct DropLease {
  Number item = 0;
};
// The answer to the newest request of a client.
struct KeepMemory {
  std::string client = {};
  std::uint64_t sequence = 0;
  Verb verb = Verb::kPush;
  Number first_lease = 0;    // kPop: the leases have numbers in a row
  std::uint64_t count = 0;   // of what the answer told
  std::string invalid = {};  // kDone, kRelease: places of leases in the request that were not valid, a space after each
  std::int64_t unix_ns = 0;
};
struct DropMemory {
  std::string client = {};
};
struct KeepNext {  // the next unused number
  Number next = 1;
};
struct Answered {
  AskId ask = 0;
  Status status = {};
  Answer answer = {};
};

using Command = std::variant<KeepQueue, DropQueue, DropWaiting, KeepItem, DropItem, KeepLease, DropLease, KeepMemory,
                             DropMemory, KeepNext, Answered>;

// Everything that an earlier node has stored.
struct Kept {
  struct Item {
    Number queue = 0;
    Number item = 0;
    std::uint64_t size = 0;
  };
  Number next = 1;
  std::vector<KeepQueue> queues = {};
  std::vector<Item> items = {};
  std::vector<KeepLease> leases = {};
  std::vector<KeepMemory> memories = {};
};

}  // namespace fray::queue
