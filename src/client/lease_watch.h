// LeaseWatch: the sockets of all workers and actors that this process is connected to, and which of them have something to
// say.
//
//   sockets.add(lease);                      // before it is closed, remove()
//   sockets.expect(lease);                   // it was idle, and now an answer is due
//   sockets.watch_busy(set);                 // what to poll()
//   sockets.read_ready(read);                // calls read(lease) where something may have arrived
//
// Few sockets are polled one by one, and read without a question: that costs the least where one is read after each call.
// With more than kFew the kernel keeps the list, in an epoll set, and what a sleep or a read costs does not grow with
// their number. The set is kept until all have gone, for a thread may sleep on it.
//
// The node tells of the end of an idle actor, so the sockets of idle actors are not listened to.
//
// Threading:  under the client's mutex; the descriptors in `set` may be slept on without it.
// Ownership:  owns the epoll set; borrows leases until remove().
// Failure:    where the kernel refuses to watch, all are polled one by one.
#pragma once

#include <cstdint>
#include <vector>

#include <poll.h>

#include "base/function_ref.h"
#include "client/lease.h"
#include "os/fd.h"

namespace fray::client {

class LeaseWatch {
 public:
  static constexpr std::size_t kFew = 16;

  void add(Lease* lease);
  void remove(Lease* lease);  // before its socket is closed, or afterwards in a child of fork()
  // Its socket is about to be closed; the lease stays.
  void let_go(Lease* lease);
  void expect(Lease* lease);

  const std::vector<Lease*>& all() const { return leases_; }
  bool is_many() const { return epoll_.is_open() && leases_.size() > kFew; }
  // Grows whenever there is a socket to sleep on that those who sleep do not know of.
  std::uint64_t version() const { return version_; }

  // Where there are many, what is still to be sent is not watched.
  void watch(std::vector<pollfd>& set) const;       // all but idle actors
  void watch_busy(std::vector<pollfd>& set) const;  // those on which answers are due; of many, all

  // Calls read(lease) for each that may have something to say. `read` may add leases and remove any.
  void read_ready(FunctionRef<void(Lease*)> read);

  // In a child of fork(): the sockets are the parent's, and what is said of the set would be said of the parent's.
  void abandon();

 private:
  static constexpr int kAtOnce = 128;

  void listen_to_all();
  void listen(Lease* lease);
  int take_ready();  // into ready_; how many there were

  std::vector<Lease*> leases_;
  std::vector<Lease*> ready_;  // of the read that is going on; null where one has gone
  std::uint64_t version_ = 0;
  os::Fd epoll_;
  bool refused_ = false;  // by the kernel
};

}  // namespace fray::client
