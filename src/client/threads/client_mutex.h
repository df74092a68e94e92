// ClientMutex: the one mutex of a client, which its parts share; ClientLock and ClientCondition go with it.
//
// The parts of a client each hold a reference to the same mutex. To clang's thread-safety analysis those would be as many
// mutexes. So what is guarded is declared to be guarded by `client_mutex`, a name that stands for the mutex of whichever
// client the parts belong to:
//
//   TaskTable& tasks_ FRAY_GUARDED_BY(client_mutex);
//   void settle() FRAY_REQUIRES(client_mutex);
//   ClientLock lock(mutex_);
//
// The analysis cannot see the lock of one client being taken for the tables of another. No part knows two clients.
//
// Threading:  as base/mutex.h.
// Ownership:  a ClientLock unlocks at the end of its scope, unless it was unlocked before.
// Failure:    none.
#pragma once

#include <utility>

#include "base/mutex.h"

namespace fray::client {

class FRAY_CAPABILITY("mutex") ClientMutexName {};
inline ClientMutexName client_mutex;

class ClientMutex {
 public:
  void lock() FRAY_ACQUIRE(client_mutex) FRAY_UNCHECKED_LOCKING { mutex_.lock(); }
  void unlock() FRAY_RELEASE(client_mutex) FRAY_UNCHECKED_LOCKING { mutex_.unlock(); }

 private:
  friend class ClientLock;
  Mutex mutex_;
};

class FRAY_SCOPED_CAPABILITY ClientLock {
 public:
  explicit ClientLock(ClientMutex& mutex) FRAY_ACQUIRE(client_mutex) FRAY_UNCHECKED_LOCKING : lock_(mutex.mutex_) {}
  ~ClientLock() FRAY_RELEASE() {}  // NOLINT: clang wants a body where the attribute is
  ClientLock(const ClientLock&) = delete;
  ClientLock& operator=(const ClientLock&) = delete;

  void lock() FRAY_ACQUIRE() FRAY_UNCHECKED_LOCKING { lock_.lock(); }
  void unlock() FRAY_RELEASE() FRAY_UNCHECKED_LOCKING { lock_.unlock(); }

 private:
  friend class ClientCondition;
  MutexLock lock_;
};

class ClientCondition {
 public:
  void notify_all() { condition_.notify_all(); }

  template <typename Predicate>
  void wait(ClientLock& lock, Predicate predicate) {
    condition_.wait(lock.lock_, std::move(predicate));
  }
  template <typename TimePoint>
  void wait_until(ClientLock& lock, const TimePoint& when) {
    condition_.wait_until(lock.lock_, when);
  }

 private:
  Condition condition_;
};

}  // namespace fray::client
