// The numbers of the tasks that calls of actors have started.
#include "client/tasks/started_tasks.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

using Runs = std::vector<StartedTasks::Run>;

TEST(StartedTasks, NumbersInARowAreOneRunWhateverObjectsAreBetween) {
  StartedTasks started;
  EXPECT_TRUE(started.empty());
  for (std::uint64_t number : {5, 6, 9}) started.note(1, number);
  EXPECT_EQ(started.of(1), Runs({{5, 10}}));
  EXPECT_FALSE(started.empty());
}

TEST(StartedTasks, TasksOfOthersBetweenAreLeftOut) {
  StartedTasks started;
  started.note(1, 5);
  started.note(2, 6);
  started.note(1, 7);
  started.note(0, 8);  // by no call
  started.note(1, 9);
  EXPECT_EQ(started.of(1), Runs({{5, 6}, {7, 8}, {9, 10}}));
  EXPECT_EQ(started.of(2), Runs({{6, 7}}));
}

TEST(StartedTasks, ACallThatHasEndedHasStartedNothing) {
  StartedTasks started;
  started.note(1, 5);
  started.forget(1);
  started.forget(1);
  EXPECT_EQ(started.of(1), Runs());
  EXPECT_TRUE(started.empty());
  started.note(1, 9);
  EXPECT_EQ(started.of(1), Runs({{9, 10}}));
}

}  // namespace
}  // namespace fray::client
