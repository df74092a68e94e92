// SlowWatch: lets the backup thread sleep on a descriptor while a slow task runs, and only then. The thread that runs the
// tasks reads the same descriptor between them, so each task would wake a backup thread that always watched it.
//
//   SlowWatch watch;
//   watch.arm(socket.fd(), EPOLLIN);      // the backup thread sleeps on watch.fd()
//   watch.disarm();                       // the slow task has ended
//
// Threading:  guarded by the lock of the loop that it belongs to; fd() is constant.
// Ownership:  owns an epoll; borrows what it watches.
// Failure:    a descriptor that cannot be watched is read when the task has ended.
#pragma once

#include <cstdint>

#include <sys/epoll.h>

#include "os/fd.h"

namespace fray::worker {

class SlowWatch {
 public:
  SlowWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  int fd() const { return epoll_.get(); }
  void arm(int fd, std::uint32_t events) {
    if (fd == watched_ && events == events_) return;
    disarm();
    epoll_event event{};
    event.events = events;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
    watched_ = fd;
    events_ = events;
  }
  void disarm() {
    if (watched_ < 0) return;
    // An entry with an empty mask would still report that the other end was closed.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched_, nullptr);
    watched_ = -1;
  }

 private:
  os::Fd epoll_;
  int watched_ = -1;
  std::uint32_t events_ = 0;
};

}  // namespace fray::worker
