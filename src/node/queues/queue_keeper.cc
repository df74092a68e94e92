#include "node/queues/queue_keeper.h"

#include <cerrno>
#include <csignal>
#include <utility>
#include <variant>

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/queues/queue_clock.h"
#include "os/files/run_folder.h"

namespace fray::node {

QueueKeeper::QueueKeeper(event::Loop& loop, std::string folder, bool in_home, OnDone on_done)
    : loop_(loop), folder_(std::move(folder)), in_home_(in_home), on_done_(std::move(on_done)) {}

QueueKeeper::~QueueKeeper() {
  if (wake_.is_open()) loop_.remove(wake_.get());
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status QueueKeeper::submit(Work work) {
  if (!wake_.is_open()) {
    wake_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.is_open()) return Status::io_error("eventfd", errno);
    FRAY_RETURN_IF_ERROR(loop_.add(wake_.get(), EPOLLIN, [this](std::uint32_t) { collect(); }));
  }
  {
    MutexLock lock(mutex_);
    work_ = std::move(work);
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

void QueueKeeper::run() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return stopping_ || work_.has_value(); });
    if (!work_) return;
    Work work = *std::exchange(work_, std::nullopt);
    lock.unlock();
    Done done = carry_out(std::move(work));
    lock.lock();
    done_ = std::move(done);
    std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }
}

Status QueueKeeper::open() {
  if (store_) return Status::ok();
  if (in_home_) {
    FRAY_RETURN_IF_ERROR(os::open_home_folder("queues").status());
  } else if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status::io_error("cannot create " + folder_, errno);
  }
  FRAY_ASSIGN_OR_RETURN(store_, QueueStore::open(folder_));
  return Status::ok();
}

QueueKeeper::Done QueueKeeper::carry_out(Work work) {
  Done done;
  done.status = open();
  if (done.status.is_ok() && work.reads) {
    auto kept = store_->read();
    done.status = kept.status();
    if (kept.is_ok()) {
      done.table = std::make_unique<queue::QueueTable>();
      done.table->restore(kept.value(), queue_now());
    }
  }
  if (done.status.is_ok() && !work.commands.empty()) done.status = store_->apply(work.commands);
  for (queue::Command& command : work.commands) {
    auto* answered = std::get_if<queue::Answered>(&command);
    if (answered == nullptr) continue;
    if (done.status.is_ok() && answered->status.is_ok()) answered->status = store_->fill(&answered->answer);
    done.answers.push_back(std::move(*answered));
  }
  return done;
}

void QueueKeeper::collect() {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof(count));
  std::optional<Done> done;
  {
    MutexLock lock(mutex_);
    done.swap(done_);
  }
  if (done) on_done_(std::move(*done));
}

}  // namespace fray::node
