// SlowWatch: lets the backup thread sleep on a descriptor while a slow task runs, and only then. The thread that runs the
// tasks reads the same descriptor between them, so each task would wake a backup thread that always watched it.
//
//   SlowWatch watch;                      // the backup thread sleeps on watch.fd()
//   watch.begin_patiently(now_ns);        // a task begins that is likely to be short, and nobody else waits for its end
//   watch.arm(socket.fd(), EPOLLIN);      // the running task is slow, or was slow the last time and begins
//   watch.disarm();                       // the thread that runs the tasks reads again, or a task begins that is not known as slow
//   watch.rest();                         // no task will run for a while
//
// With tasks that are neither the client is asked to look (Client::guard()), within a millisecond. An alarm for that costs as much as a
// short task, and a late one next to nothing (os/alarm.h). It is not set again while it is to ring, or has rung and the look
// is still to come.
//
// Threading:  guarded by the lock of the loop that it belongs to; fd() is constant.
// Ownership:  owns an epoll and an alarm; borrows what it watches.
// Failure:    a descriptor that cannot be watched is read when the task has ended.
#pragma once

#include <chrono>
#include <cstdint>

#include <sys/epoll.h>

#include "os/alarm.h"
#include "os/fd.h"
#include "worker/pacing.h"

namespace fray::worker {

class SlowWatch {
 public:
  SlowWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { add(alarm_.fd(), EPOLLIN); }

  int fd() const { return epoll_.get(); }

  // The backup thread is woken within kPatienceNs.
  void begin_patiently(std::uint64_t now_ns) {
    if (rings_ns_ != 0) return;
    rings_ns_ = now_ns + kPatienceNs;
    alarm_.set(std::chrono::nanoseconds(kPatienceNs));
  }
  void rest() {
    if (rings_ns_ == 0) return;
    alarm_.cancel();
    rings_ns_ = 0;
  }
  // The backup thread looks. An alarm that has rung would ring on.
  void looked(std::uint64_t now_ns) {
    if (rings_ns_ <= now_ns) rest();
  }

  void arm(int fd, std::uint32_t events) {
    if (fd == watched_ && events == events_) return;
    disarm();
    if (!add(fd, events)) return;
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
  bool add(int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  os::Fd epoll_;
  os::Alarm alarm_;
  std::uint64_t rings_ns_ = 0;  // 0: it is not set
  int watched_ = -1;
  std::uint32_t events_ = 0;
};

}  // namespace fray::worker
