// CompletionQueue: tells an event loop, or a thread that waits for it, which objects became ready, through an eventfd.
//
//   queue.listen(object);                    // who reads that the object is ready calls arrived(object), once
//   queue.add(object);                       // in place of listen(): the object is ready already
//   for (Object* object : queue.take()) …    // when fd() is readable
//
// Threading:  under Client's mutex; take() and forget() from the thread of the loop. begin_wait() and end_wait() without it.
// Ownership:  owns the eventfd; holds no counts of objects, because the loop keeps its refs.
// Failure:    none; a full eventfd counter is readable all the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "os/fd.h"

namespace fray::client {

struct Object;

class CompletionQueue {
 public:
  CompletionQueue();
  int fd() const { return event_.get(); }
  void listen(Object* object);
  void unlisten(Object* object);
  void arrived(Object* object);
  void add(Object* object);
  bool empty() const { return ready_.empty(); }
  std::vector<Object*> take();
  // Of an event loop: a coroutine begins to wait for an object, or goes on, which may be some time after the object arrived.
  void begin_wait(const Object* object);
  void end_wait(const Object* object);
  // How many objects it listens to; or how many coroutines wait, if these are more. Generator tasks do not count: their items
  // may come one after the other, and are cheaper in groups.
  std::size_t awaited() const { return std::max(listened_, coroutines_.load(std::memory_order_relaxed)); }
  void forget(Object* object) {
    unlisten(object);
    std::erase(ready_, object);
  }

 private:
  os::Fd event_;
  std::vector<Object*> ready_;
  std::size_t listened_ = 0;
  std::atomic<std::size_t> coroutines_{0};
};

}  // namespace fray::client
