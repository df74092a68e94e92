#include "node/queues/queue_keeper.h"

#include <cerrno>
#include <utility>
#include <variant>

#include <sys/stat.h>

#include "node/queues/queue_clock.h"
#include "os/files/run_folder.h"

namespace fray::node {

struct QueueKeeper::Turn : SideThread::Piece {
  Turn(QueueKeeper& keeper, Work asked) : keeper(keeper), asked(std::move(asked)) {}

  void work() override { result = keeper.carry_out(std::move(asked)); }
  void done() override { keeper.on_done_(std::move(result)); }

  QueueKeeper& keeper;
  Work asked;
  Done result;
};

QueueKeeper::QueueKeeper(event::Loop& loop, std::string folder, bool in_home, OnDone on_done)
    : folder_(std::move(folder)), in_home_(in_home), on_done_(std::move(on_done)), thread_(loop) {}

Status QueueKeeper::submit(Work work) { return thread_.submit(std::make_unique<Turn>(*this, std::move(work))); }

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

}  // namespace fray::node
