#include "client/objects/object_table.h"

#include <utility>

#include "client/objects/shared_memory.h"

namespace fray::client {

void ObjectTable::share(Object* object) {
  // Nested objects are walked with an explicit stack, because user data decides how deep they are nested.
  std::vector<Object*> pending{object};
  std::vector<Object*> order;
  while (!pending.empty()) {
    Object* next = pending.back();
    pending.pop_back();
    if (next->registered) continue;
    next->registered = true;
    if (next->uncounted) {
      next->uncounted = false;
      link_.record(wire::ControlType::kHold, next->id);
      continue;
    }
    next->linked.store(true, std::memory_order_relaxed);
    table_.emplace(next->id, next);
    link_.record(wire::ControlType::kRegister, next->id);
    order.push_back(next);
    if (next->detail) pending.insert(pending.end(), next->detail->nested.begin(), next->detail->nested.end());
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if ((*it)->is_ready()) completed(*it);
  }
}

void ObjectTable::share_private() {
  std::unordered_set<Object*> objects = std::move(private_blocks_);
  private_blocks_.clear();
  for (Object* object : objects) share(object);
}

Object* ObjectTable::find(ObjectId id) {
  auto found = table_.find(id);
  return found == table_.end() ? nullptr : found->second;
}

Object* ObjectTable::adopt(ObjectId id) {
  if (Object* known = find(id)) {
    retain(known);
    return known;
  }
  auto* object = new Object;
  object->id = id;
  object->linked.store(true, std::memory_order_relaxed);
  table_.emplace(id, object);
  object->uncounted = id == self_;
  object->registered = !object->uncounted;
  if (object->registered) link_.record(wire::ControlType::kHold, id);
  return object;
}

// Most values are read once, and their refs then live as long as the reader wants. The refs of a value that is read
// again are kept with it: registering thousands of them at the node at every read would cost far more than the read.
std::vector<Object*> ObjectTable::nested(Object* object) {
  ObjectDetail& detail = object->details();
  std::vector<Object*> refs = detail.nested;
  for (Object* inside : refs) retain(inside);
  if (detail.nested_ids.empty()) return refs;
  refs.reserve(refs.size() + detail.nested_ids.size());
  for (const ObjectId& id : detail.nested_ids) refs.push_back(adopt(id));
  if (std::exchange(detail.nested_read, true)) {
    for (std::size_t i = detail.nested.size(); i < refs.size(); ++i) retain(refs[i]);
    detail.nested = refs;
    detail.nested_ids = {};
  }
  return refs;
}

void ObjectTable::adopt_result(Object* object) {
  if (object->registered) return;
  object->registered = true;
  object->linked.store(true, std::memory_order_relaxed);
  table_.emplace(object->id, object);
}

void ObjectTable::want(Object* object) {
  if (object->wanted || object->producer != nullptr || !object->registered || object->is_ready()) return;
  object->wanted = true;
  link_.record(wire::ControlType::kWant, object->id);
}

void ObjectTable::completed(Object* object) {
  if (!object->registered || object->id.owner != process_ || object->wanted) return;
  wire::Complete message;
  message.object = object->id;
  message.holder = process_;
  if (object->detail) {
    for (Object* nested : object->detail->nested) share(nested);
  }
  message.value = to_wire(object);
  link_.send(wire::ControlType::kComplete, 0, message);
}

wire::Value ObjectTable::to_wire(Object* object) {
  wire::Value value;
  value.encoding = object->encoding;
  if (object->sealed) {
    value.kind = wire::ValueKind::kSealed;
    value.object = object->id;
    value.location = object->detail->location;
    if (object->own_block) {
      Status published = memory_.publish(object->detail->location.segment, link_);
      if (!published.is_ok()) {  // no descriptor is free: later readers of the bytes get the error
        value.encoding = wire::Encoding::kStatus;
        value.kind = wire::ValueKind::kInline;
        value.bytes = std::string(1, static_cast<char>(published.code())) + published.message();
        return value;
      }
      object->own_block = false;
      private_blocks_.erase(object);
    }
  } else {
    value.bytes = object->bytes;
  }
  if (object->detail) {
    for (Object* nested : object->detail->nested) value.nested.push_back(nested->id);
    value.nested.insert(value.nested.end(), object->detail->nested_ids.begin(), object->detail->nested_ids.end());
  }
  return value;
}

void ObjectTable::destroy(Object* object) {
  std::vector<Object*> dead;
  auto drop = [&dead](Object* inside) {
    if (inside->references.fetch_sub(1, std::memory_order_acq_rel) == 1) dead.push_back(inside);
  };
  while (true) {
    if (object->registered || object->uncounted) table_.erase(object->id);
    if (object->registered) link_.record(wire::ControlType::kRelease, object->id);
    if (object->detail) {
      if (object->detail->actor != nullptr) actor_dropped_(object->detail->actor);
      if (object->own_block) {
        private_blocks_.erase(object);
        memory_.free(object->detail->location);
      }
      for (Object* nested : object->detail->nested) drop(nested);
      if (object->detail->stream) {
        for (Object* item : object->detail->stream->items) drop(item);
      }
    }
    delete object;
    if (dead.empty()) return;
    object = dead.back();
    dead.pop_back();
  }
}

std::vector<Object*> ObjectTable::foreign_pending() const {
  std::vector<Object*> found;
  for (const auto& [id, object] : table_) {
    if (!object->is_ready() && object->producer == nullptr) found.push_back(object);
  }
  return found;
}

}  // namespace fray::client
