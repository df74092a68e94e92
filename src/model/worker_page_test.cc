#include "model/worker_page.h"

#include <thread>

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(WorkerPage, NameIsTheRunningTasksOnly) {
  WorkerPage page;
  EXPECT_EQ(page.running_task(), "");
  page.begin_task(7, "shuffle", 123, 0, 21);
  EXPECT_EQ(page.running_task(), "shuffle");
  EXPECT_EQ(page.task_number.load(), 7u);
  EXPECT_EQ(page.caller.load(), 21u);
  page.end_task();
  EXPECT_EQ(page.running_task(), "");
  EXPECT_EQ(page.task_name(), "shuffle");
}

TEST(WorkerPage, LongNameIsCut) {
  WorkerPage page;
  page.begin_task(1, std::string(1000, 'n'), 0);
  EXPECT_EQ(page.running_task(), std::string(WorkerPage::kNameBytes - 1, 'n'));
}

TEST(WorkerPage, PageOfAHostileWriterIsReadNoFurtherThanItsName) {
  WorkerPage page;
  for (auto& letter : page.name) letter = 'x';
  page.version = 3;  // for ever in the middle of a change
  page.state = WorkerState::kRunning;
  EXPECT_EQ(page.running_task(), std::string(WorkerPage::kNameBytes, 'x'));
}

TEST(WorkerPage, ReaderNeverSeesAMixOfTwoNames) {
  WorkerPage page;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop.load(); ++i) page.begin_task(i, std::string(40, i % 2 == 0 ? 'a' : 'b'), i);
  });
  int mixed = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string name = page.task_name();
    if (name.find('a') != std::string::npos && name.find('b') != std::string::npos) ++mixed;
  }
  stop = true;
  writer.join();
  // A reader gives up after many collisions and then returns what it saw, which a writer that never rests can cause.
  EXPECT_LT(mixed, 20);
}

}  // namespace
}  // namespace fray
