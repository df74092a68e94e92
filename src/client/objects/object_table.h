// ObjectTable: the objects that this process shares with others, and what it tells the node about them.
//
// A fresh object is private to the process. share() registers it, adopt() makes one of an id that arrived. Both put it
// into the table; from then on the node counts this process as one holder, until release() finds no use left.
//
// Threading:  guarded by Client's mutex, but for retain() and the fast half of Client::release().
// Ownership:  does not own objects (they are counted); an object leaves the table when its last count goes.
// Failure:    none; the Client acts on the loss of the node.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/objects/object.h"
#include "client/session/node_link.h"

namespace fray::client {

class SharedMemory;

class ObjectTable {
 public:
  ObjectTable(NodeLink& link, SharedMemory& memory) : link_(link), memory_(memory) {}

  void set_identity(std::uint32_t epoch, ProcessId process) {
    epoch_ = epoch;
    process_ = process;
  }
  // The actor that this process is. A handle that an actor keeps of itself is not counted, or it would hold itself.
  void set_self(ActorId self) { self_ = self; }
  const ActorId& self() const { return self_; }
  // Called when the last handle of an actor is gone, if the actor was called.
  void on_actor_dropped(std::function<void(ActorQueue*)> dropped) { actor_dropped_ = std::move(dropped); }
  ProcessId process() const { return process_; }
  std::uint32_t epoch() const { return epoch_; }

  // `count` consecutive sequence numbers; the first is returned.
  std::uint64_t take_sequence(std::uint32_t count) {
    std::uint64_t first = next_sequence_;
    next_sequence_ += count;
    return first;
  }
  std::uint64_t next_sequence() const { return next_sequence_; }
  ObjectId own_id(std::uint64_t sequence) const { return {epoch_, process_, sequence}; }

  // Makes the object known to the node, before it travels. Records its value too if there is one.
  void share(Object* object);
  // The object of this id, with one more count.
  Object* adopt(ObjectId id);
  // The refs inside a ready object, with one more count each.
  std::vector<Object*> nested(Object* object);
  // A result (sealed, or with refs inside) of which the process that made it has told the node, in this process's name.
  void adopt_result(Object* object);
  // Asks the node for the value of an object that others will make.
  void want(Object* object);
  // Called when the value of an object became known here: tells the node, if others wait for the value.
  void completed(Object* object);
  // Deletes an object without a count.
  void destroy(Object* object);

  // Objects of this process in its own shared memory that nobody else knows. The node can only spill what it knows.
  void note_private(Object* object) { private_blocks_.insert(object); }
  void no_longer_private(Object* object) { private_blocks_.erase(object); }
  // Makes all of these known to the node.
  void share_private();

  Object* find(ObjectId id);
  // Every object in the table that is pending and not made here.
  std::vector<Object*> foreign_pending() const;

  wire::Value to_wire(Object* object);

 private:
  NodeLink& link_;
  SharedMemory& memory_;
  std::uint32_t epoch_ = 0;
  ActorId self_;
  std::function<void(ActorQueue*)> actor_dropped_;
  ProcessId process_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::unordered_map<ObjectId, Object*> table_;
  std::unordered_set<Object*> private_blocks_;
};

}  // namespace fray::client
