#include "node/side_thread.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "os/process/start_thread.h"

namespace fray::node {

SideThread::~SideThread() {
  if (wake_.is_open()) loop_.remove(wake_.get());
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status SideThread::submit(std::unique_ptr<Piece> piece) {
  FRAY_RETURN_IF_ERROR(start());
  {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(piece));
  }
  changed_.notify_one();
  return Status::ok();
}

void SideThread::drop_waiting() {
  std::deque<std::unique_ptr<Piece>> dropped;
  MutexLock lock(mutex_);
  dropped.swap(waiting_);
}

Status SideThread::start() {
  if (!wake_.is_open()) {
    os::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.is_open()) return Status::io_error("eventfd", errno);
    FRAY_RETURN_IF_ERROR(loop_.add(wake.get(), EPOLLIN, [this](std::uint32_t) { collect(); }));
    wake_ = std::move(wake);
  }
  if (!thread_.joinable()) {
    FRAY_ASSIGN_OR_RETURN(thread_, os::start_thread([this] { run(); }));
  }
  return Status::ok();
}

void SideThread::run() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::unique_ptr<Piece> piece = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    piece->work();
    lock.lock();
    done_.push_back(std::move(piece));
    const std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }
}

void SideThread::collect() {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof(count));
  std::vector<std::unique_ptr<Piece>> done;
  {
    MutexLock lock(mutex_);
    done.swap(done_);
  }
  for (const std::unique_ptr<Piece>& piece : done) piece->done();
}

}  // namespace fray::node
