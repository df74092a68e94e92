// SlowWatch: lets the backup thread sleep on a descriptor while what runs is slow, and only then. The thread that runs the
// tasks reads the same descriptor between them; it would wake the backup thread with each task if that went on watching.
//
//   SlowWatch watch;
//   watch.arm(socket.fd(), EPOLLIN);      // the backup thread sleeps on watch.fd()
//   watch.disarm();                       // the slow task has ended
//
// Threading:  guarded by the lock of the loop that it belongs to; fd() is constant.
// Ownership:  owns an epoll; borrows what it watches.
// Failure:    what cannot be watched is not: it is read when the task has ended.
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
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched_,
                nullptr);  // not with an empty mask, which still tells of the end
    watched_ = -1;
  }

 private:
  os::Fd epoll_;
  int watched_ = -1;
  std::uint32_t events_ = 0;
};

}  // namespace fray::worker
