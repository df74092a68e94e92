// QueueCarrier: gives requests about queues to the QueueTable, which decides, has the QueueKeeper write the decisions down,
// and then answers. An answer is sent once every change that it reports is on the disk.
//
//   carrier.ask({.verb = Verb::kPush, .queue = "pages", .items = {"a"}}, [](Result<queue::Answer> answer) { ... });
//
//   ask ──▶ arrived ──▶ QueueTable ──▶ commands ──▶ QueueKeeper ──▶ answer
//             (a round of the loop)     (while it writes, more gather)
//
// Threading:  the node's loop.
// Ownership:  owns the table and the keeper.
// Failure:    when a change cannot be written, its request and all later ones are answered with the reason; the table is
//             then made anew from the records on the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/loop.h"
#include "node/queues/queue_keeper.h"
#include "queue/queue_table.h"

namespace fray::node {

class QueueCarrier {
 public:
  using AskId = queue::AskId;
  using OnAnswer = std::function<void(Result<queue::Answer> answer)>;

  QueueCarrier(event::Loop& loop, std::string folder, bool in_home);
  ~QueueCarrier();
  QueueCarrier(const QueueCarrier&) = delete;
  QueueCarrier& operator=(const QueueCarrier&) = delete;

  // Calls back once, later.
  AskId ask(queue::Request request, OnAnswer on_answer);
  // Nobody waits for the answer any more.
  void withdraw(AskId ask);

 private:
  struct Arrived {
    AskId ask = 0;
    queue::Request request;
  };
  enum class State { kUnread, kReading, kReady };

  void work_soon();
  void work();
  void decide();
  void write_down();
  void submit(QueueKeeper::Work work);
  void keep_time();
  void done(QueueKeeper::Done done);
  void answer(AskId ask, Result<queue::Answer> answer);
  void fail_everything(const Status& why);

  event::Loop& loop_;
  std::unique_ptr<queue::QueueTable> table_ = std::make_unique<queue::QueueTable>();
  std::vector<Arrived> arrived_;
  std::vector<queue::Command> unwritten_;
  std::unordered_map<AskId, OnAnswer> askers_;
  AskId last_ask_ = 0;
  State state_ = State::kUnread;
  bool busy_ = false;    // the keeper is writing
  std::string trouble_;  // the trouble that was logged last
  event::TimerId work_timer_ = 0;
  event::TimerId due_timer_ = 0;
  QueueKeeper keeper_;
};

}  // namespace fray::node
