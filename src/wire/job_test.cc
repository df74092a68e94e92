#include "wire/job.h"

#include <gtest/gtest.h>

#include "wire/message_test.h"

namespace fray::wire {
namespace {

TEST(JobMessages, SubmissionHasWhatIsSecret) {
  SubmitJob message;
  message.spec.id = "a-1";
  message.spec.command = {"sh", "-c", "true"};
  message.spec.environment = {{"TOKEN", "b=c"}, {"EMPTY", ""}};
  message.spec.call = std::string("\0\1", 2);
  message.spec.metadata = {{"team", "a"}};
  ASSERT_TRUE(message.spec.resources.set("CPU", 0.5).is_ok());
  EXPECT_EQ(round_trip(message).spec, message.spec);
}

TEST(JobMessages, AnswerHasNothingThatIsSecret) {
  JobAnswer message;
  message.jobs.resize(2);
  message.jobs[1].spec.id = "a-1";
  message.jobs[1].spec.environment = {{"TOKEN", "hidden"}};
  message.jobs[1].spec.call = "hidden";
  EXPECT_EQ(encoded(message).find("hidden"), std::string::npos);
  const JobInfo read = round_trip(message).jobs.at(1);
  EXPECT_EQ(read.id(), "a-1");
  EXPECT_TRUE(read.spec.environment.empty());
  EXPECT_EQ(read.spec.call, "");
}

TEST(JobMessages, AStateThatThereIsNotIsNoAnswer) {
  JobAnswer message;
  message.jobs.resize(1);
  std::string bytes = encoded(message);
  const std::string untouched = bytes;
  message.jobs[0].state = JobState::kStopped;
  const std::string stopped = encoded(message);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != stopped[at]) bytes[at] = 17;
  }
  ASSERT_NE(bytes, untouched);
  EXPECT_EQ(decode<JobAnswer>(bytes).status().code(), StatusCode::kCorruption);
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

}  // namespace
}  // namespace fray::wire
