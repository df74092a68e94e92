#include "client/objects.h"

#include <utility>

namespace fray::client {

Object* Objects::put_inline(wire::Encoding encoding, std::string bytes, std::vector<Object*> nested) {
  auto* object = new Object;
  object->encoding = encoding;
  object->bytes = std::move(bytes);
  if (!nested.empty()) object->details().nested = std::move(nested);
  {
    ClientLock lock(mutex_);
    object->id = objects_.own_id(objects_.take_sequence(1));
  }
  object->state.store(Object::State::kReady, std::memory_order_release);
  return object;
}

std::vector<Object*> Objects::nested(Object* object) {
  if (!object->detail) return {};
  ClientLock lock(mutex_);
  return objects_.nested(object);
}

std::vector<Object*> Objects::adopt(std::span<const ObjectId> ids) {
  std::vector<Object*> refs;
  if (ids.empty()) return refs;
  ClientLock lock(mutex_);
  refs.reserve(ids.size());
  for (const ObjectId& id : ids) refs.push_back(objects_.adopt(id));
  return refs;
}

Object* Objects::adopt_sealed(const wire::ValueView& value) {
  ClientLock lock(mutex_);
  Object* object = objects_.adopt(value.object);
  if (object->is_ready()) return object;
  object->encoding = value.encoding;
  object->sealed = true;
  object->details().location = value.location;
  for (std::uint32_t i = 0; i < value.nested_count; ++i) object->details().nested_ids.push_back(value.nested(i));
  object->state.store(Object::State::kReady, std::memory_order_release);
  reading_.became_ready(object);
  reading_.settle();
  kernel_.changed();
  return object;
}

Object* Objects::find(ObjectId id) {
  ClientLock lock(mutex_);
  return id.epoch == objects_.epoch() ? objects_.adopt(id) : nullptr;
}

void Objects::release(Object* object) {
  if (!object->linked.load(std::memory_order_relaxed)) {
    // The object is private to this process and contains no refs: the thread that drops the last count deletes it.
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!object->linked.load(std::memory_order_relaxed)) {
      delete object;
      return;
    }
    object->references.fetch_add(1, std::memory_order_relaxed);  // another thread has just linked it: continue as below
  }
  if (!object->stream) {  // not the last count, so nothing else changes
    std::uint32_t count = object->references.load(std::memory_order_relaxed);
    while (count > 1) {
      if (object->references.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
    }
  }
  if (connection_.is_abandoned()) return;
  ClientLock lock(mutex_);
  std::uint32_t before = object->references.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1) return objects_.destroy(object);
  if (before == 2 && object->stream && object->producer != nullptr) {
    // Only the task itself holds the stream: no reader will take its items.
    ledger_.cancel(object, false);
    reading_.settle();
    kernel_.changed();
  }
}

ObjectId Objects::new_object_id() {
  ClientLock lock(mutex_);
  return objects_.own_id(objects_.take_sequence(1));
}

void Objects::share(std::span<Object* const> objects) {
  ClientLock lock(mutex_);
  for (Object* object : objects) objects_.share(object);
}

}  // namespace fray::client
