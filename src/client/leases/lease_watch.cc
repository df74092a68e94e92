#include "client/leases/lease_watch.h"

#include <algorithm>
#include <array>

#include <sys/epoll.h>

namespace fray::client {

namespace {

void watch_socket(std::vector<pollfd>& set, const Lease& lease) {
  set.push_back({lease.socket.fd(), static_cast<short>(lease.socket.has_output() ? POLLIN | POLLOUT : POLLIN), 0});
}

}  // namespace

void LeaseWatch::add(Lease* lease) {
  lease->watch_place = static_cast<std::uint32_t>(leases_.size());
  leases_.push_back(lease);
  ++version_;
  if (epoll_.is_open()) {
    listen(lease);
  } else if (leases_.size() > kFew && !refused_) {
    listen_to_all();
  }
}

void LeaseWatch::remove(Lease* lease) {
  if (lease->watch_place >= leases_.size() || leases_[lease->watch_place] != lease) return;
  let_go(lease);
  std::replace(ready_.begin(), ready_.end(), lease, static_cast<Lease*>(nullptr));
  leases_.back()->watch_place = lease->watch_place;
  leases_[lease->watch_place] = leases_.back();
  leases_.pop_back();
  if (!leases_.empty()) return;
  epoll_.reset();
  refused_ = false;
}

void LeaseWatch::let_go(Lease* lease) {
  if (!lease->is_told_of) return;
  lease->is_told_of = false;
  // Removed before the socket is closed: a child of fork() may have a copy, which would keep the socket in the set.
  if (epoll_.is_open() && lease->socket.is_open()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, lease->socket.fd(), nullptr);
  }
}

void LeaseWatch::expect(Lease* lease) {
  if (!is_many()) ++version_;
  if (epoll_.is_open() && !lease->is_told_of) listen(lease);
}

void LeaseWatch::listen_to_all() {
  epoll_ = os::Fd(::epoll_create1(EPOLL_CLOEXEC));
  refused_ = !epoll_.is_open();
  for (Lease* lease : leases_) {
    if (!epoll_.is_open()) return;
    listen(lease);
  }
}

void LeaseWatch::listen(Lease* lease) {
  if (lease->dead || !lease->socket.is_open()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = lease;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, lease->socket.fd(), &event) == 0) {
    lease->is_told_of = true;
    return;
  }
  epoll_.reset();  // threads that sleep on it learn of this by the version
  refused_ = true;
  ++version_;
  for (Lease* each : leases_) each->is_told_of = false;
}

void LeaseWatch::read_all(FunctionRef<void(Lease*)> read) {
  if (is_many()) return read_ready(read);
  read_few(read, true);
}

void LeaseWatch::read_busy(FunctionRef<void(Lease*)> read) {
  if (is_many()) return read_ready(read);
  read_few(read, false);
}

void LeaseWatch::read_few(FunctionRef<void(Lease*)> read, bool idle_too) {
  // A lease that is removed meanwhile is replaced by the last one; a lease that is added comes to the end.
  for (std::size_t place = 0; place < leases_.size();) {
    Lease* lease = leases_[place];
    const bool may_have_spoken = !lease->idle() || (idle_too && lease->actor == nullptr);
    if (!lease->dead && may_have_spoken) read(lease);
    if (place < leases_.size() && leases_[place] == lease) ++place;
  }
}

void LeaseWatch::read_ready(FunctionRef<void(Lease*)> read) {
  for (std::size_t seen = 0, most = leases_.size(); seen < most; seen += kAtOnce) {
    const int count = take_ready();
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      Lease* lease = ready_[i];
      if (lease == nullptr || lease->dead) continue;
      if (lease->actor != nullptr && lease->idle()) {
        let_go(lease);
      } else {
        read(lease);
      }
    }
    ready_.clear();
    if (count < kAtOnce) return;
  }
}

int LeaseWatch::take_ready() {
  std::array<epoll_event, kAtOnce> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kAtOnce, 0);
  for (int i = 0; i < count; ++i) ready_.push_back(static_cast<Lease*>(events[static_cast<std::size_t>(i)].data.ptr));
  return count;
}

void LeaseWatch::watch(std::vector<pollfd>& set) const {
  if (is_many()) {
    set.push_back({epoll_.get(), POLLIN, 0});
    return;
  }
  for (const Lease* lease : leases_) {
    if (!lease->dead && (lease->actor == nullptr || !lease->idle())) watch_socket(set, *lease);
  }
}

void LeaseWatch::watch_busy(std::vector<pollfd>& set) const {
  if (is_many()) return watch(set);
  for (const Lease* lease : leases_) {
    if (!lease->dead && !lease->idle()) watch_socket(set, *lease);
  }
}

void LeaseWatch::abandon() {
  epoll_.reset();
  for (Lease* lease : leases_) lease->is_told_of = false;
}

}  // namespace fray::client
