#include "store/work_share.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <system_error>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace fray::store {
namespace {

// A thread inherits the mask, so signals go on arriving where the program expects them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Status share_work(std::size_t pieces, unsigned threads,
                  const std::function<Status(std::size_t piece, unsigned thread)>& work) {
  std::atomic<std::size_t> next = 0;
  Mutex mutex;
  Status first_error;  // guarded by mutex
  const auto run = [&](unsigned thread) {
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      Status done = work(piece, thread);
      if (done.is_ok()) continue;
      next = pieces;
      MutexLock lock(mutex);
      if (first_error.is_ok()) first_error = std::move(done);
    }
  };

  std::vector<std::jthread> helpers;
  const unsigned wanted = static_cast<unsigned>(std::min<std::size_t>(threads, pieces));
  {
    SignalsBlocked blocked;
    try {
      for (unsigned thread = 1; thread < wanted; ++thread) helpers.emplace_back(run, thread);
    } catch (const std::system_error&) {
      // No more threads to be had: fewer do it.
    }
  }
  run(0);
  helpers.clear();  // joins
  return first_error;
}

}  // namespace fray::store
