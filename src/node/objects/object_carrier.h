// ObjectCarrier: the node's side of registered objects: keeps their values and sends them to the processes that ask,
// while the HolderTable decides how long each object is needed.
//
// Threading:  the node's loop.
// Ownership:  owns the table and the inline values; bytes in shared memory belong to the MemoryCarrier, which must outlive
//             it, as must the roster.
// Failure:    a value in a segment that was never announced ends the connection that sent it (kCorruption).
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "node/objects/memory_carrier.h"
#include "node/sessions/roster.h"
#include "object/holder_table.h"
#include "wire/control.h"
#include "wire/object.h"
#include "wire/value.h"

namespace fray::node {

class ObjectCarrier {
 public:
  // Called when no process holds an object any more.
  using OnForget = std::function<void(const ObjectId& object)>;

  ObjectCarrier(Roster& roster, MemoryCarrier& memory, std::uint32_t epoch, OnForget on_forget)
      : roster_(roster), memory_(memory), table_(epoch), on_forget_(std::move(on_forget)) {}

  void process_joined(ProcessId process) { table_.process_joined(process); }
  void hold(ProcessId process, ObjectId object) { table_.held(process, object); }
  // Drops the holds of the process. A driver may live on and look at arrays that it got: memory of its objects is never
  // written again.
  void process_left(ProcessId process, bool may_still_look);
  // kRegister, kHold, kRelease, kWant.
  Status records(ProcessId process, wire::ControlType type, const wire::ObjectIds& message);
  Status complete(wire::Complete message);
  // Tells the process that submitted the object's task. No effect when that process is gone, and its tasks with it.
  void cancel(const wire::CancelObject& message);

  // To be called after a round. True when another round must follow.
  bool end_round(bool complete);

  std::uint64_t inline_bytes() const { return inline_bytes_; }
  const object::HolderTable& table() const { return table_; }
  // Null: the value is not there yet, or lost.
  const wire::Value* value_of(const ObjectId& object) const {
    auto found = values_.find(object);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  void lose_bytes(const ObjectId& object, wire::Value& value, const Status& why);
  void carry_out();
  void carry_out(const object::Deliver& command);
  void carry_out(const object::ReportLost& command);
  void carry_out(const object::Forget& command);

  Roster& roster_;
  MemoryCarrier& memory_;
  object::HolderTable table_;
  const OnForget on_forget_;
  std::unordered_map<ObjectId, wire::Value> values_;
  std::unordered_set<ObjectId> still_seen_;            // objects that a process which has left may still look at
  std::unordered_map<ObjectId, Location> lost_bytes_;  // of objects whose segment came without its descriptor
  std::uint64_t inline_bytes_ = 0;
};

}  // namespace fray::node
