#include "store/work_share.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "os/process/start_thread.h"

namespace fray::store {

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

  std::vector<std::thread> helpers;
  const unsigned wanted = static_cast<unsigned>(std::min<std::size_t>(threads, pieces));
  for (unsigned thread = 1; thread < wanted; ++thread) {
    auto started = os::start_thread([&run, thread] { run(thread); });
    if (!started.is_ok()) break;  // no further thread can be started; fewer threads do the work
    helpers.push_back(std::move(started).value());
  }
  run(0);
  for (std::thread& helper : helpers) helper.join();
  return first_error;
}

}  // namespace fray::store
