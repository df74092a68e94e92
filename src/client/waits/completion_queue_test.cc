// What a completion queue counts, by which the backup thread knows whether event loops wait.
#include "client/waits/completion_queue.h"

#include <vector>

#include <gtest/gtest.h>

#include "client/objects/object.h"

namespace fray::client {
namespace {

TEST(CompletionQueue, CountsEachObjectUntilItArrivesOrIsForgotten) {
  CompletionQueue queue;
  Object arrives;
  Object is_forgotten;
  queue.listen(&arrives);
  queue.listen(&is_forgotten);
  EXPECT_EQ(queue.awaited(), 2U);
  queue.arrived(&arrives);
  EXPECT_EQ(queue.awaited(), 1U);
  queue.forget(&is_forgotten);
  queue.forget(&is_forgotten);
  EXPECT_EQ(queue.awaited(), 0U);
  EXPECT_EQ(queue.take(), std::vector<Object*>{&arrives});
}

TEST(CompletionQueue, DoesNotCountAnObjectThatIsReadyAlready) {
  CompletionQueue queue;
  Object object;
  queue.add(&object);
  EXPECT_EQ(queue.awaited(), 0U);
  EXPECT_FALSE(queue.empty());
}

TEST(CompletionQueue, CountsCoroutinesUntilTheyGoOn) {
  CompletionQueue queue;
  Object object;
  queue.listen(&object);  // once, for both
  queue.begin_wait(&object);
  queue.begin_wait(&object);
  EXPECT_EQ(queue.awaited(), 2U);
  queue.arrived(&object);
  queue.end_wait(&object);
  EXPECT_EQ(queue.awaited(), 1U);
  queue.end_wait(&object);
  EXPECT_EQ(queue.awaited(), 0U);
}

TEST(CompletionQueue, DoesNotCountGeneratorTasks) {
  CompletionQueue queue;
  Object stream;
  stream.stream = true;
  queue.listen(&stream);
  queue.begin_wait(&stream);
  EXPECT_EQ(queue.awaited(), 0U);
  queue.end_wait(&stream);
  queue.arrived(&stream);
  queue.forget(&stream);
  EXPECT_EQ(queue.awaited(), 0U);
}

}  // namespace
}  // namespace fray::client
