// Task: one submitted task on the submitter's side, from create_task to its result.
//
// States and transitions are those of docs/decisions/0001: waiting -> queued -> sent -> done, with Returned and lost
// workers leading back to queued.
//
// Threading:  guarded by Client's mutex after submission.
// Ownership:  owned by the client from submission until it is done; holds a count on each result object until it is
//             ready, and on each object among its arguments until it is done.
// Failure:    none here; see TaskTable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/objects/object.h"
#include "wire/direct.h"

namespace fray::client {

struct ActorQueue;
struct Lease;
struct TaskQueue;

// A callable as workers need it. Shared by all tasks that call it.
struct Function {
  std::uint64_t id = 0;  // hash of the payload
  std::string name;      // for logs, status and errors
  // The bytes of wire/function_payload.h, shared by all functions with this id.
  std::shared_ptr<const std::string> payload = std::make_shared<const std::string>();
  Object* object = nullptr;   // the one that the payload names, if any; each task holds it
  bool is_carried = false;    // its calls are of the kind kCarried
  std::uint64_t mean_ns = 0;  // a moving mean of its run time; 0: not known yet. Guarded by Client's mutex
};

// A stretch of encoded arguments and the object whose value comes after it.
struct ArgumentPart {
  std::string before;
  Object* object = nullptr;  // counted
};

struct Task {
  // kWithdrawn: it was cancelled; its parts are released, and only `ready` of its queue still has it.
  enum class State : std::uint8_t { kWaiting, kQueued, kSent, kDone, kWithdrawn };

  State state = State::kWaiting;
  bool cancelled = false;
  bool generator = false;
  bool constructs = false;  // an actor: it goes to the node, and has no result
  bool unwanted = false;    // its worker was asked for it: it ends as cancelled if the worker has not begun it
  std::uint8_t attempt = 0;
  std::uint16_t returns = 1;
  std::int32_t retries_left = 0;   // after lost workers, and after exceptions that allow a retry; -1: no limit
  std::uint32_t missing = 0;       // arguments that are not ready
  Object* first_result = nullptr;  // counted; null once done
  std::shared_ptr<Function> function;
  TaskQueue* queue = nullptr;   // null for calls of actors
  ActorQueue* actor = nullptr;  // null for tasks
  Lease* lease = nullptr;
  std::string frame;         // the whole frame; with arguments that are objects: what comes after the last part
  Task* previous = nullptr;  // list of unfinished tasks
  Task* next = nullptr;
  // Rare parts.
  struct Extra {
    std::vector<ArgumentPart> parts;    // until the frame is built; objects stay in `held` then
    std::vector<Object*> held;          // objects among and inside the arguments; counted
    std::vector<Object*> more_results;  // results after the first; counted
  };
  std::unique_ptr<Extra> extra;

  std::uint64_t number() const { return first_result->id.sequence; }
};

// The largest piece of memory that glibc keeps in its lists of small freed chunks (fast bins). Each task takes one such
// piece for itself and one for its frame; larger ones would cost more at every task.
inline constexpr std::size_t kFastBytes = 120;
inline constexpr std::size_t kUsualFrameBytes = kFastBytes - 1;  // a string ends with a zero
static_assert(sizeof(Task) <= kFastBytes);

// The place of the TaskHead in a task's frame.
inline constexpr std::size_t kHeadOffset = sizeof(wire::FrameHeader);

}  // namespace fray::client
