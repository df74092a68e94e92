#include "client/output/line_folder.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

using namespace std::chrono_literals;

constexpr LineFolder::Moment kStart{100s};

wire::Log said(const std::string& text, std::int32_t pid = 1, std::uint8_t stream = 1) {
  wire::Log log;
  log.pid = pid;
  log.stream = stream;
  log.task = "load";
  log.text = text;
  return log;
}

std::vector<std::string> texts(const std::vector<wire::Log>& logs) {
  std::vector<std::string> result;
  for (const wire::Log& log : logs) result.push_back(log.text);
  return result;
}

using Texts = std::vector<std::string>;

TEST(LineFolder, DifferentLinesPassAsTheyAre) {
  LineFolder folder;
  EXPECT_EQ(folder.pass(said("a\nb\n\nc\n"), kStart).text, "a\nb\n\nc\n");
  EXPECT_FALSE(folder.next_due());
  EXPECT_TRUE(folder.take_all().empty());
}

TEST(LineFolder, ThirdLineOfATextInOneSecondWaitsAndIsCounted) {
  LineFolder folder;
  EXPECT_EQ(folder.pass(said("w\n", 1), kStart).text, "w\n");
  EXPECT_EQ(folder.pass(said("w\n", 2), kStart).text, "w\n");
  EXPECT_EQ(folder.pass(said("w\nother\nw\n", 3), kStart + 500ms).text, "other\n");
  EXPECT_EQ(folder.pass(said("w\n", 4), kStart + 900ms).text, "");
  EXPECT_EQ(folder.next_due(), kStart + 1s);
  EXPECT_TRUE(folder.take_due(kStart + 999ms).empty());
  std::vector<wire::Log> due = folder.take_due(kStart + 1s);
  EXPECT_EQ(texts(due), Texts{"w [3 times, 2 workers]\n"});
  EXPECT_EQ(due.front().pid, 4);
  EXPECT_EQ(due.front().task, "load");
  EXPECT_FALSE(folder.next_due());
}

TEST(LineFolder, SingleHeldLineIsShownAsItIs) {
  LineFolder folder;
  folder.pass(said("w\nw\nw\n"), kStart);
  EXPECT_EQ(texts(folder.take_due(kStart + 1s)), Texts{"w\n"});
}

TEST(LineFolder, LinesOfOneWorkerAreCountedWithoutNamingWorkers) {
  LineFolder folder;
  folder.pass(said("w\nw\nw\nw\n"), kStart);
  EXPECT_EQ(texts(folder.take_all()), Texts{"w [2 times]\n"});
}

TEST(LineFolder, NextWindowBeginsAnew) {
  LineFolder folder;
  folder.pass(said("w\nw\nw\n"), kStart);
  folder.take_due(kStart + 1s);
  EXPECT_EQ(folder.pass(said("w\n"), kStart + 1s).text, "w\n");
  EXPECT_FALSE(folder.next_due());
}

TEST(LineFolder, SameTextOnAnotherStreamIsAnotherLine) {
  LineFolder folder;
  folder.pass(said("w\nw\n", 1, 1), kStart);
  EXPECT_EQ(folder.pass(said("w\n", 1, 2), kStart).text, "w\n");
}

TEST(LineFolder, EmptyLinesPass) {
  LineFolder folder;
  EXPECT_EQ(folder.pass(said("\n\n\n\n"), kStart).text, "\n\n\n\n");
}

TEST(LineFolder, TextsBeyondItsMemoryPass) {
  LineFolder folder;
  for (std::size_t i = 0; i < LineFolder::kMostTexts; ++i) folder.pass(said(std::to_string(i) + "\n"), kStart);
  EXPECT_EQ(folder.pass(said("w\nw\nw\nw\n"), kStart).text, "w\nw\nw\nw\n");
  folder.take_due(kStart + 1s);
  EXPECT_EQ(folder.pass(said("w\nw\nw\nw\n"), kStart + 1s).text, "w\nw\n");
}

}  // namespace
}  // namespace fray::client
