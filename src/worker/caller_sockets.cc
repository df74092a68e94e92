#include "worker/caller_sockets.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

#include "worker/pacing.h"

namespace fray::worker {

CallerSockets::CallerSockets(Page& page, int epoll) : page_(page), epoll_(epoll) {
  for (std::uint32_t slot = WorkerPage::kCallers; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

void CallerSockets::add(ProcessId client, os::Fd fd) {
  const std::uint64_t id = ++last_;
  Caller caller;
  caller.client = client;
  if (!free_slots_.empty()) {
    caller.slot = static_cast<int>(free_slots_.back());
    free_slots_.pop_back();
    page_.caller_joined(static_cast<std::uint32_t>(caller.slot), client);
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    if (errno != ENOSPC && errno != ENOMEM) end_without_descriptors();
    if (caller.slot >= 0) leave_slot(caller);
    return;
  }
  caller.socket = wire::FrameSocket(std::move(fd));
  callers_.emplace(id, std::move(caller));
}

bool CallerSockets::drop(std::uint64_t id) {
  auto found = callers_.find(id);
  if (found == callers_.end()) return false;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.socket.fd(), nullptr);
  if (found->second.slot >= 0) leave_slot(found->second);
  std::erase(dirty_, id);
  callers_.erase(found);
  return true;
}

void CallerSockets::close_all() {
  for (auto& [id, caller] : callers_) caller.socket.close();
}

CallerSockets::Caller* CallerSockets::find(std::uint64_t id) {
  auto found = callers_.find(id);
  return found == callers_.end() ? nullptr : &found->second;
}

bool CallerSockets::have_output() const {
  return std::any_of(callers_.begin(), callers_.end(),
                     [](const auto& each) { return each.second.socket.has_output(); });
}

void CallerSockets::mark_dirty(std::uint64_t id, Caller& caller) {
  if (!std::exchange(caller.dirty, true)) dirty_.push_back(id);
}

void CallerSockets::flush_all() {
  for (std::uint64_t id : std::exchange(dirty_, {})) {
    Caller* caller = find(id);
    if (caller == nullptr) continue;
    caller->dirty = false;
    flush(id, *caller);
  }
}

void CallerSockets::flush(std::uint64_t id, Caller& caller) {
  if (!caller.socket.is_open()) return;
  [[maybe_unused]] bool sent = caller.socket.flush().is_ok();  // the end of a caller is noticed by reading
  if (caller.socket.has_output() == caller.watches_output) return;
  caller.watches_output = !caller.watches_output;
  epoll_event event{};
  event.events = EPOLLIN | (caller.watches_output ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  event.data.u64 = id;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, caller.socket.fd(), &event);
}

void CallerSockets::leave_slot(const Caller& caller) {
  page_.caller_left(static_cast<std::uint32_t>(caller.slot));
  free_slots_.push_back(static_cast<std::uint32_t>(caller.slot));
}

}  // namespace fray::worker
