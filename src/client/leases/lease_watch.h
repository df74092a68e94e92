// LeaseWatch: the sockets of all workers and actors that this process is connected to, and which of them have input.
//
//   sockets.add(lease);                      // remove() has to be called before its socket is closed
//   sockets.expect(lease);                   // the lease was idle, and now an answer is due
//   sockets.watch_busy(set);                 // what to poll()
//   sockets.read_busy(read);                 // calls read(lease) where an answer may have arrived
//   sockets.read_all(read);                  // and where anything may have arrived
//
// Up to kFew sockets are polled one by one, and read without asking the kernel which have input: that costs the least where
// a socket is read after each call. With more of them the kernel keeps the list, in an epoll set, and what a sleep or a
// read costs does not grow with their number. The set is kept until all sockets are gone, because a thread may sleep on it.
//
// An idle worker may say something too: the answer to a question that was asked before it became idle. A thread that is woken
// by it has to read it, or its next sleep would end at once, and so on for as long as the lease is kept.
//
// The node tells of the end of an idle actor, so the sockets of idle actors are not listened to.
//
// Threading:  under the client's mutex; the descriptors in `set` may be slept on without it.
// Ownership:  owns the epoll set; borrows leases until remove().
// Failure:    when the kernel refuses to watch a socket, all are polled one by one.
#pragma once

#include <cstdint>
#include <vector>

#include <poll.h>

#include "base/function_ref.h"
#include "client/leases/lease.h"
#include "os/fd.h"

namespace fray::client {

class LeaseWatch {
 public:
  static constexpr std::size_t kFew = 16;

  void add(Lease* lease);
  void remove(Lease* lease);  // before its socket is closed, or afterwards in a child of fork()
  // To be called when the socket is about to be closed and the lease stays.
  void let_go(Lease* lease);
  void expect(Lease* lease);

  const std::vector<Lease*>& all() const { return leases_; }
  bool is_many() const { return epoll_.is_open() && leases_.size() > kFew; }
  // Grows whenever there is another socket to sleep on, which threads that sleep already do not know of.
  std::uint64_t version() const { return version_; }

  // With more than kFew sockets, those with unsent output are not watched for room.
  void watch(std::vector<pollfd>& set) const;       // all but idle actors
  void watch_busy(std::vector<pollfd>& set) const;  // those on which answers are due; with more than kFew, all

  // Calls read(lease) for each lease whose socket may have input; read_busy() leaves out idle leases where there are few,
  // each of which would cost a call of the kernel. `read` may add leases and remove any.
  void read_all(FunctionRef<void(Lease*)> read);
  void read_busy(FunctionRef<void(Lease*)> read);

  // To be called in a child of fork(): the epoll set is shared with the parent, so a change to it would change the parent's.
  void abandon();

 private:
  static constexpr int kAtOnce = 128;

  void listen_to_all();
  void listen(Lease* lease);
  void read_few(FunctionRef<void(Lease*)> read, bool idle_too);
  void read_ready(FunctionRef<void(Lease*)> read);
  int take_ready();  // puts leases into ready_, and returns how many

  std::vector<Lease*> leases_;
  std::vector<Lease*> ready_;  // during read_ready(); null: the lease was removed meanwhile
  std::uint64_t version_ = 0;
  os::Fd epoll_;
  bool refused_ = false;  // the kernel has refused to watch
};

}  // namespace fray::client
