#include "client/waits/completion_queue.h"

#include <sys/eventfd.h>

#include "client/objects/object.h"

namespace fray::client {

namespace {
bool counts(const Object* object) { return !object->stream; }
}  // namespace

CompletionQueue::CompletionQueue() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void CompletionQueue::listen(Object* object) {
  object->details().listeners.push_back(this);
  listened_ += counts(object);
}

void CompletionQueue::unlisten(Object* object) {
  if (!object->detail) return;
  const std::size_t erased = std::erase(object->detail->listeners, this);
  if (counts(object)) listened_ -= erased;
}

void CompletionQueue::arrived(Object* object) {
  listened_ -= counts(object);
  add(object);
}

void CompletionQueue::begin_wait(const Object* object) {
  if (counts(object)) coroutines_.fetch_add(1, std::memory_order_relaxed);
}

void CompletionQueue::end_wait(const Object* object) {
  if (counts(object)) coroutines_.fetch_sub(1, std::memory_order_relaxed);
}

void CompletionQueue::add(Object* object) {
  ready_.push_back(object);
  if (ready_.size() > 1) return;  // the loop was woken already
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event_.get(), &one, sizeof(one));
}

std::vector<Object*> CompletionQueue::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(event_.get(), &count, sizeof(count));
  return std::exchange(ready_, {});
}

}  // namespace fray::client
