#include "node/objects/spiller.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "store/spill_file.h"

namespace fray::node {

Spiller::Spiller(event::Loop& loop, std::string folder, OnDone on_done)
    : loop_(loop), folder_(std::move(folder)), on_done_(std::move(on_done)) {}

Spiller::~Spiller() {
  if (wake_.is_open()) loop_.remove(wake_.get());
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Spiller::submit(SegmentId segment, int source, std::uint64_t size) {
  if (!wake_.is_open()) {
    wake_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.is_open()) return Status::io_error("eventfd", errno);
    FRAY_RETURN_IF_ERROR(loop_.add(wake_.get(), EPOLLIN, [this](std::uint32_t) { collect(); }));
  }
  os::Fd copy(FRAY_FAULT("spill.source", EMFILE) ? -1 : ::fcntl(source, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) return Status::io_error("fcntl", errno);
  {
    MutexLock lock(mutex_);
    jobs_.push_back({segment, std::move(copy), size});
  }
  changed_.notify_one();
  if (thread_.joinable()) return Status::ok();
  // Signals are the loop's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return Status::ok();
}

void Spiller::run() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    auto copied = store::spill_to_file(job.source.get(), job.size, folder_);
    Result<os::Fd> file =
        copied.is_ok() ? Result<os::Fd>(std::move(copied->descriptor)) : Result<os::Fd>(copied.status());
    lock.lock();
    done_.push_back({job.segment, std::move(file)});
    std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }
}

void Spiller::collect() {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof(count));
  std::vector<Done> done;
  {
    MutexLock lock(mutex_);
    done.swap(done_);
  }
  for (Done& entry : done) on_done_(entry.segment, std::move(entry.file));
}

}  // namespace fray::node
