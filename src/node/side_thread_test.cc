#include "node/side_thread.h"

#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace fray::node {
namespace {

struct Seen {
  std::vector<int> worked;
  std::vector<int> told;
  std::thread::id worker;
};

class Note : public SideThread::Piece {
 public:
  Note(Seen& seen, int number, std::function<void()> told = {})
      : seen_(seen), number_(number), told_(std::move(told)) {}
  void work() override {
    seen_.worked.push_back(number_);
    seen_.worker = std::this_thread::get_id();
  }
  void done() override {
    seen_.told.push_back(number_);
    if (told_) told_();
  }

 private:
  Seen& seen_;
  int number_;
  std::function<void()> told_;
};

// Begins, and goes on when it is let.
class Gate : public SideThread::Piece {
 public:
  Gate(std::latch& begun, std::latch& go_on) : begun_(begun), go_on_(go_on) {}
  void work() override {
    begun_.count_down();
    go_on_.wait();
  }
  void done() override {}

 private:
  std::latch& begun_;
  std::latch& go_on_;
};

TEST(SideThread, WorksInTheOrderOfSubmissionOnAnotherThreadAndTellsTheLoop) {
  auto loop = event::Loop::create().value();
  Seen seen;
  SideThread side(*loop);
  for (int i = 0; i < 3; ++i) {
    auto told = [&, i] {
      if (i == 2) loop->stop();
    };
    ASSERT_TRUE(side.submit(std::make_unique<Note>(seen, i, told)).is_ok());
  }
  loop->run();
  EXPECT_EQ(seen.worked, (std::vector{0, 1, 2}));
  EXPECT_EQ(seen.told, seen.worked);
  EXPECT_NE(seen.worker, std::this_thread::get_id());
}

TEST(SideThread, PieceMaySubmitTheNextOneWhenItIsDone) {
  auto loop = event::Loop::create().value();
  Seen seen;
  SideThread side(*loop);
  auto last = [&] { loop->stop(); };
  auto next = [&] { EXPECT_TRUE(side.submit(std::make_unique<Note>(seen, 2, last)).is_ok()); };
  ASSERT_TRUE(side.submit(std::make_unique<Note>(seen, 1, next)).is_ok());
  loop->run();
  EXPECT_EQ(seen.told, (std::vector{1, 2}));
}

TEST(SideThread, EndFinishesWhatWasSubmittedAndTellsNobody) {
  auto loop = event::Loop::create().value();
  Seen seen;
  {
    SideThread side(*loop);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(side.submit(std::make_unique<Note>(seen, i)).is_ok());
  }
  EXPECT_EQ(seen.worked.size(), 100u);
  EXPECT_TRUE(seen.told.empty());
}

TEST(SideThread, PiecesThatWereDroppedBeforeTheyBeganAreNeverWorkedOn) {
  auto loop = event::Loop::create().value();
  Seen seen;
  std::latch begun(1), go_on(1);
  {
    SideThread side(*loop);
    ASSERT_TRUE(side.submit(std::make_unique<Gate>(begun, go_on)).is_ok());
    begun.wait();
    ASSERT_TRUE(side.submit(std::make_unique<Note>(seen, 1)).is_ok());
    side.drop_waiting();
    go_on.count_down();
  }
  EXPECT_TRUE(seen.worked.empty());
}

}  // namespace
}  // namespace fray::node
