#include "wire/job.h"

#include <gtest/gtest.h>

#include "wire/message_test.h"

namespace fray::wire {
namespace {

TEST(JobMessages, SpecReadsBackAsWritten) {
  SubmitJob message;
  message.spec.id = "a-1";
  message.spec.name = "a";
  message.spec.command = {"sh", "-c", "true"};
  message.spec.folder = "/tmp";
  message.spec.environment = {{"A", "b=c"}, {"EMPTY", ""}};
  message.spec.call = std::string("\0\1", 2);
  message.spec.replicas = 3;
  ASSERT_TRUE(message.spec.resources.set("CPU", 0.5).is_ok());
  message.spec.priority = -2;
  message.spec.deadline_seconds = 1.5;
  EXPECT_EQ(round_trip(message).spec, message.spec);
}

TEST(JobMessages, PiecesOfOutputReadBackByteForByte) {
  JobLogPieces message;
  message.ended = true;
  message.newest = 4;
  message.pieces = {{{2, 1, 77}, 5, std::string("a\0\xff", 3)}};
  const JobLogPieces read = round_trip(message);
  EXPECT_EQ(read.pieces.at(0).at, message.pieces.at(0).at);
  EXPECT_EQ(read.pieces.at(0).missing, 5u);
  EXPECT_EQ(read.pieces.at(0).bytes, message.pieces.at(0).bytes);
}

TEST(JobMessages, CursorsReadBackAsWritten) {
  ReadJobLog message;
  message.id = "a-1";
  message.wait = true;
  message.cursors = {{0, 1, 9}, {1, 2, std::uint64_t{1} << 40}};
  EXPECT_EQ(round_trip(message).cursors, message.cursors);
}

}  // namespace
}  // namespace fray::wire
