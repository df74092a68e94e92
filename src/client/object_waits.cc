#include "client/object_waits.h"

#include <utility>

#include "client/reading.h"
#include "client/waits/user_wait.h"

namespace fray::client {

WaitResult ObjectWaits::wait_until(FunctionRef<bool()> condition, Deadline deadline, WaitHooks& hooks,
                                   const Awaited* awaited) {
  UserWait waiter(hooks, deadline ? nullptr : awaited, seat_, side_waits_, call_waits_);
  return kernel_.wait(condition, deadline, waiter);
}

WaitResult ObjectWaits::wait(std::span<Object* const> objects, std::size_t needed, Deadline deadline,
                             WaitHooks& hooks) {
  std::size_t ready = 0;
  std::size_t cursor = 0;  // all objects before this index are ready
  std::uint64_t scanned = ~std::uint64_t{0};
  auto enough = [&]() FRAY_REQUIRES(client_mutex) {
    while (cursor < objects.size() && objects[cursor]->has_next()) ++cursor;
    if (cursor >= needed) return true;
    if (needed == objects.size() || scanned == kernel_.news()) return false;
    scanned = kernel_.news();
    ready = cursor;
    for (std::size_t i = cursor; i < objects.size() && ready < needed; ++i) ready += objects[i]->has_next();
    return ready >= needed;
  };
  {
    ClientLock lock(mutex_);
    for (Object* object : objects) {
      if (!object->is_ready()) objects_.want(object);
    }
  }
  const Awaited awaited{objects, needed};
  return wait_until(enough, deadline, hooks, &awaited);
}

WaitResult ObjectWaits::next_item(Object* stream, Object** item, Deadline deadline, WaitHooks& hooks) {
  *item = nullptr;
  const Awaited awaited{{&stream, 1}, 1};
  while (true) {  // another thread may take the item that has ended the wait
    WaitResult result = wait_until([stream] { return stream->has_next(); }, deadline, hooks, &awaited);
    if (result != WaitResult::kDone || take_item(stream, item)) return result;
  }
}

bool ObjectWaits::take_item(Object* stream, Object** item) {
  *item = nullptr;
  ClientLock lock(mutex_);
  ItemStream& items = *stream->detail->stream;
  if (items.items.empty()) return stream->is_ready();
  *item = items.items.front();
  items.items.pop_front();
  items.available.store(items.items.size(), std::memory_order_release);
  ledger_.taken(stream, item_bytes(**item));
  return true;
}

WaitResult ObjectWaits::all_items(Object* stream, std::vector<Object*>* items, Deadline deadline, WaitHooks& hooks) {
  lift_item_limit(stream);
  const Awaited awaited{{&stream, 1}, 1};
  WaitResult result = wait_until([stream] { return stream->is_ready(); }, deadline, hooks, &awaited);
  if (result != WaitResult::kDone) return result;
  ClientLock lock(mutex_);
  for (Object* item : stream->detail->stream->items) {
    retain(item);
    items->push_back(item);
  }
  return result;
}

void ObjectWaits::lift_item_limit(Object* stream) {
  ClientLock lock(mutex_);
  if (!stream->stream) return;
  stream->detail->stream->unlimited = true;
  ledger_.taken(stream, ~std::uint64_t{0});
}

void ObjectWaits::listen(Object* object, CompletionQueue* queue) {
  ClientLock lock(mutex_);
  if (object->is_ready()) {
    bool told = !queue->empty();
    queue->add(object);
    if (told) return;
    // Wakes a thread in wait_completed(), whether it is the leader or a follower.
    kernel_.wake_waiting();
    return;
  }
  objects_.want(object);
  queue->listen(object);
  if (call_waits_.is_loop(queue)) ledger_.flush();
  kernel_.changed();
}

WaitResult ObjectWaits::wait_completed(CompletionQueue* queue, Deadline deadline, WaitHooks& hooks) {
  return wait_until([queue] { return !queue->empty(); }, deadline, hooks);
}

void ObjectWaits::forget_listener(CompletionQueue* queue, std::span<Object* const> objects) {
  if (connection_.is_abandoned()) return;
  ClientLock lock(mutex_);
  for (Object* object : objects) queue->forget(object);
}

std::vector<Object*> ObjectWaits::take_completed(CompletionQueue* queue) {
  ClientLock lock(mutex_);
  return queue->take();
}

}  // namespace fray::client
