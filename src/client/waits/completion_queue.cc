#include "client/waits/completion_queue.h"

#include <sys/eventfd.h>

namespace fray::client {

CompletionQueue::CompletionQueue() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

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
