#include "node/queues/queue_carrier.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/log_line.h"
#include "node/queues/queue_clock.h"

namespace fray::node {

QueueCarrier::QueueCarrier(event::Loop& loop, std::string folder, bool in_home)
    : loop_(loop),
      keeper_(loop, std::move(folder), in_home, [this](QueueKeeper::Done result) { done(std::move(result)); }) {}

QueueCarrier::~QueueCarrier() {
  loop_.cancel(work_timer_);
  loop_.cancel(due_timer_);
}

QueueCarrier::AskId QueueCarrier::ask(queue::Request request, OnAnswer on_answer) {
  askers_.emplace(++last_ask_, std::move(on_answer));
  arrived_.push_back({last_ask_, std::move(request)});
  work_soon();
  return last_ask_;
}

void QueueCarrier::withdraw(AskId ask) {
  askers_.erase(ask);
  std::erase_if(arrived_, [ask](const Arrived& each) { return each.ask == ask; });
  table_->withdraw(ask);
}

// Works after the loop has read the other sockets, so that one transaction serves many requests.
void QueueCarrier::work_soon() {
  if (work_timer_ != 0) return;
  work_timer_ = loop_.after(std::chrono::nanoseconds(0), [this] {
    work_timer_ = 0;
    work();
  });
}

void QueueCarrier::work() {
  if (state_ == State::kUnread && !busy_ && !arrived_.empty()) {
    state_ = State::kReading;
    return submit({true, {}});
  }
  if (state_ != State::kReady) return;
  decide();
  write_down();
  keep_time();
}

void QueueCarrier::decide() {
  const queue::Now now = queue_now();
  for (Arrived& each : std::exchange(arrived_, {})) table_->ask(each.ask, std::move(each.request), now);
  table_->tick(now);
  for (queue::Command& command : table_->take_commands()) unwritten_.push_back(std::move(command));
}

void QueueCarrier::write_down() {
  if (busy_ || unwritten_.empty()) return;
  submit({false, std::exchange(unwritten_, {})});
}

void QueueCarrier::submit(QueueKeeper::Work work) {
  busy_ = true;
  if (Status submitted = keeper_.submit(std::move(work)); !submitted.is_ok()) {
    QueueKeeper::Done failed;
    failed.status = std::move(submitted);
    done(std::move(failed));
  }
}

void QueueCarrier::keep_time() {
  loop_.cancel(std::exchange(due_timer_, 0));
  const auto due = table_->next_due();
  if (!due) return;
  const queue::Moment left = std::max(*due - queue_now().steady, queue::Moment(0));
  due_timer_ = loop_.after(left, [this] {
    due_timer_ = 0;
    work();
  });
}

void QueueCarrier::done(QueueKeeper::Done done) {
  busy_ = false;
  if (!done.status.is_ok()) return fail_everything(done.status);
  if (done.table) {
    table_ = std::move(done.table);
    state_ = State::kReady;
  }
  trouble_.clear();
  for (queue::Answered& each : done.answers) {
    answer(each.ask, each.status.is_ok() ? Result<queue::Answer>(std::move(each.answer)) : std::move(each.status));
  }
  work();
}

void QueueCarrier::answer(AskId ask, Result<queue::Answer> answer) {
  auto asker = askers_.extract(ask);
  if (!asker.empty()) asker.mapped()(std::move(answer));
}

// The decisions in memory differ from the disk now: unanswered requests get the error, and the next request reads the
// queues anew from the disk.
void QueueCarrier::fail_everything(const Status& why) {
  if (why.message() != trouble_) {
    log_event(LogLevel::kError, "fray node: the queues cannot be kept: {}", why.message());
  }
  trouble_ = why.message();
  state_ = State::kUnread;
  table_ = std::make_unique<queue::QueueTable>();
  unwritten_.clear();
  arrived_.clear();
  loop_.cancel(std::exchange(due_timer_, 0));
  for (auto& [ask, on_answer] : std::exchange(askers_, {})) on_answer(why);
}

}  // namespace fray::node
