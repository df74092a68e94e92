// Object: what one process knows of one object: its value, once it is known, and how often this process still uses it.
//
// Threading:  `references`, `state` and `linked` are atomic; `state` becomes kReady once, after everything else was
//             written, and from then on the value is immutable and may be read without a lock. All other fields are
//             guarded by Client's mutex.
// Ownership:  counted by `references`: Python refs, views into shared memory, tasks that will make it or need it, and
//             objects that contain it. Client::release() deletes it.
// Failure:    a failed object is ready too; its value is a packed exception or a Status (wire::is_failure).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/ids.h"
#include "wire/value.h"

namespace fray::client {

class CompletionQueue;
struct Object;
struct Task;
struct ActorQueue;

// Items of a generator task that have arrived and were not taken.
struct ItemStream {
  std::deque<Object*> items;              // counted
  std::atomic<std::size_t> available{0};  // size of `items`, to be read without the mutex
  std::uint32_t received = 0;             // of all attempts: a further one begins anew, and gives none of them twice
  bool unlimited = false;                 // the worker may send all items before one is taken
};

// The parts that only few objects need.
struct ObjectDetail {
  std::vector<Object*> nested;              // refs inside a value made here; counted
  std::vector<ObjectId> nested_ids;         // refs inside a value made elsewhere; the node counts them for us
  bool nested_read = false;                 // `nested_ids` were asked for once; the next time they become `nested`
  std::vector<Task*> dependents;            // tasks that wait for this object
  std::vector<CompletionQueue*> listeners;  // told once, when the object is ready
  Location location;
  std::unique_ptr<ItemStream> stream;  // generator tasks
  ActorQueue* actor = nullptr;         // of an actor that was called; owned by ActorTable
};

struct Object {
  enum class State : std::uint8_t { kPending, kReady };

  std::atomic<std::uint32_t> references{1};
  std::atomic<State> state{State::kPending};
  std::atomic<bool> linked{false};  // it has details or is registered: its last count must be dropped under the mutex
  wire::Encoding encoding = wire::Encoding::kNone;
  bool sealed = false;      // the bytes lie in shared memory
  bool stream = false;      // of a generator task; `detail->stream` is there from the start
  bool registered = false;  // the node knows it and this process as a holder; it is in the client's table
  bool own_block = false;   // the bytes lie in this process's own segments and nobody else knows them
  bool wanted = false;      // the node was asked for the value
  bool uncounted = false;   // an actor's handle of itself: in the table, but the node does not count it
  ObjectId id;
  std::uint64_t mark = 0;    // for the language binding, guarded by its own lock
  Task* producer = nullptr;  // the unfinished task of this process that will make it
  std::string bytes;         // an inline value
  std::unique_ptr<ObjectDetail> detail;

  // Whether get, or the next step of a generator, would not wait.
  bool has_next() const {
    return is_ready() || (stream && detail->stream->available.load(std::memory_order_acquire) > 0);
  }
  bool failed() const { return wire::is_failure(encoding); }
  // Whether it has failed because its task was cancelled, as its owner knows.
  bool was_cancelled() const {
    return is_ready() && encoding == wire::Encoding::kStatus && !bytes.empty() &&
           static_cast<StatusCode>(bytes[0]) == StatusCode::kCancelled;
  }
  bool is_ready() const { return state.load(std::memory_order_acquire) == State::kReady; }
  ObjectDetail& details() {
    if (!detail) {
      detail = std::make_unique<ObjectDetail>();
      linked.store(true, std::memory_order_relaxed);
    }
    return *detail;
  }
};

// What an item of a stream counts for among those that its worker may send ahead.
inline std::uint64_t item_bytes(const Object& item) {
  return item.sealed ? item.detail->location.size : item.bytes.size() + 1;
}

inline void retain(Object* object) { object->references.fetch_add(1, std::memory_order_relaxed); }

}  // namespace fray::client
