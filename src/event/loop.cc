#include "event/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fault.h"

namespace fray::event {

namespace {
constexpr int kEventsPerRound = 1024;
constexpr std::chrono::milliseconds kForever{-1};
}  // namespace

Result<std::unique_ptr<Loop>> Loop::create() {
  os::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return Status::io_error("epoll_create1", errno);
  return std::unique_ptr<Loop>(new Loop(std::move(epoll)));
}

Status Loop::add(int fd, std::uint32_t events, Callback callback) {
  auto watch = std::make_unique<Watch>();
  watch->fd = fd;
  watch->callback = std::move(callback);
  epoll_event event{};
  event.events = events;
  event.data.ptr = watch.get();
  bool added = !FRAY_FAULT("watch", ENOSPC) && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  if (!added) return Status::io_error("epoll_ctl", errno);
  watches_[fd] = std::move(watch);
  return Status::ok();
}

void Loop::change(int fd, std::uint32_t events) {
  auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = found->second.get();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::remove(int fd) {
  auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  found->second->removed = true;
  removed_.push_back(std::move(found->second));
  watches_.erase(found);
}

TimerId Loop::after(std::chrono::nanoseconds delay, std::function<void()> callback) {
  TimerId id = next_timer_++;
  Clock::time_point when = Clock::now() + delay;
  timers_.emplace(std::pair(when, id), std::move(callback));
  timer_times_[id] = when;
  return id;
}

void Loop::cancel(TimerId timer) {
  auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, timer});
  timer_times_.erase(found);
}

void Loop::run() {
  while (!stopped_) run_once(kForever);
}

int Loop::timeout_ms(std::chrono::milliseconds limit) const {
  if (round_requested_) return 0;
  if (timers_.empty()) return static_cast<int>(limit.count());
  auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now());
  left = std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(1 << 30));
  if (limit != kForever) left = std::min(left, limit);
  return static_cast<int>(left.count());
}

void Loop::run_once(std::chrono::milliseconds limit) {
  std::array<epoll_event, kEventsPerRound> events;
  int timeout = timeout_ms(limit);
  round_requested_ = false;
  int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerRound, timeout);
  round_complete_ = count >= 0 && count < kEventsPerRound;
  for (int i = 0; i < count; ++i) {
    auto* watch = static_cast<Watch*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (!watch->removed) watch->callback(events[static_cast<std::size_t>(i)].events);
  }
  run_timers();
  if (hook_) hook_(round_complete_);
  removed_.clear();
}

void Loop::run_timers() {
  Clock::time_point now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto entry = timers_.extract(timers_.begin());
    timer_times_.erase(entry.key().second);
    entry.mapped()();
  }
}

}  // namespace fray::event
