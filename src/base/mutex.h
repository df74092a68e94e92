// Mutex, MutexLock and Condition: std::mutex, std::unique_lock and std::condition_variable with names that clang's
// thread-safety analysis knows. They cost what those cost.
//
//   MutexLock lock(mutex_);
//   changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return !jobs_.empty(); });
//
// Threading:  as the standard ones.
// Ownership:  a MutexLock unlocks at the end of its scope, unless it was unlocked before.
// Failure:    none.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/thread_annotations.h"

namespace fray {

class FRAY_CAPABILITY("mutex") Mutex {
 public:
  void lock() FRAY_ACQUIRE() { mutex_.lock(); }
  void unlock() FRAY_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class FRAY_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FRAY_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() FRAY_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() FRAY_ACQUIRE() { lock_.lock(); }
  void unlock() FRAY_RELEASE() { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Waits let go of the lock and have it again when they return; to the analysis it was held all the time.
class Condition {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  template <typename Predicate>
  void wait(MutexLock& lock, Predicate predicate) {
    condition_.wait(lock.lock_, std::move(predicate));
  }
  template <typename TimePoint>
  void wait_until(MutexLock& lock, const TimePoint& when) {
    condition_.wait_until(lock.lock_, when);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace fray
