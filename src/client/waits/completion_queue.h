// CompletionQueue: tells an event loop which objects became ready, through an eventfd.
//
// Threading:  add() from any thread under Client's mutex; take() and forget() from the loop's thread, under the same.
// Ownership:  owns the eventfd; holds no counts of objects, because the loop keeps its refs.
// Failure:    none; a full eventfd counter is readable all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "os/fd.h"

namespace fray::client {

struct Object;

class CompletionQueue {
 public:
  CompletionQueue();
  int fd() const { return event_.get(); }
  void add(Object* object);
  bool empty() const { return ready_.empty(); }
  std::vector<Object*> take();
  void forget(Object* object) { std::erase(ready_, object); }

 private:
  os::Fd event_;
  std::vector<Object*> ready_;
};

}  // namespace fray::client
