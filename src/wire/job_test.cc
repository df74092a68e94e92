#include "wire/job.h"

#include <gtest/gtest.h>

namespace fray::wire {
namespace {

// A message is read as written, and no prefix of it is taken for a whole one.
template <typename Message>
Message round_trip(const Message& message) {
  std::string bytes;
  ByteWriter out(bytes);
  message.encode(out);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Message::decode(std::string_view(bytes).substr(0, size)).is_ok()) << size;
  }
  EXPECT_FALSE(Message::decode(bytes + "x").is_ok());
  return Message::decode(bytes).value();
}

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
