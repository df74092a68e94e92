#include "node/workers/log_tail.h"

#include <gtest/gtest.h>

namespace fray::node {
namespace {

TEST(LogTail, ShortOutputIsKeptWhole) {
  LogTail tail;
  tail.append("one\ntw");
  tail.append("o\n");
  EXPECT_EQ(tail.text(), "one\ntwo");
}

TEST(LogTail, LastLinesAreKept) {
  LogTail tail;
  for (int i = 0; i < 100; ++i) tail.append("line " + std::to_string(i) + "\n");
  std::string text = tail.text();
  EXPECT_TRUE(text.starts_with("line 80\n")) << text;
  EXPECT_TRUE(text.ends_with("\nline 99"));
}

TEST(LogTail, LongLineKeepsItsEnd) {
  LogTail tail;
  tail.append(std::string(100'000, 'a') + "end");
  std::string text = tail.text();
  EXPECT_EQ(text.size(), LogTail::kMostBytes);
  EXPECT_TRUE(text.ends_with("end"));
}

TEST(LogTail, NothingSaidIsEmpty) {
  LogTail tail;
  EXPECT_EQ(tail.text(), "");
  tail.append("\n\n");
  EXPECT_EQ(tail.text(), "");
}

}  // namespace
}  // namespace fray::node
