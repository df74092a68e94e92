#include "wire/job.h"

#include <type_traits>

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

TEST(JobMessages, EveryFieldOfASpecIsCarried) {
  SubmitJob message;
  auto change = [](const JobField&, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value = static_cast<Value>(value + 3);
    if constexpr (std::is_base_of_v<std::string, Value>) value = "text";
    if constexpr (std::is_same_v<Value, std::vector<std::string>>) value = {"a", "b"};
    if constexpr (std::is_same_v<Value, Texts>) value = {{"name", "text"}};
  };
  JobSpec::visit(message.spec, change);
  JobSpec::visit_secrets(message.spec, change);
  ASSERT_TRUE(message.spec.resources.set("TPU", 4).is_ok());
  EXPECT_EQ(round_trip(message).spec, message.spec);
}

TEST(JobMessages, AnswerReadsBackAsWritten) {
  JobAnswer message;
  message.message = "text";
  message.jobs.resize(2);
  JobInfo& job = message.jobs[1];
  job.spec.id = "a-1";
  job.state = JobState::kStopped;
  job.phase = JobPhase::kEnded;
  job.exit_code = 143;
  job.replicas = {{.exit_code = 0, .peak_memory_bytes = 7}, {.signal = 15, .asked = true, .text = "ended"}};
  job.supervisor_pid = 4711;
  job.ended_unix_ns = std::int64_t{1} << 60;
  job.further = "{}";
  const JobAnswer read = round_trip(message);
  ASSERT_EQ(read.jobs.size(), 2u);
  EXPECT_EQ(read.jobs[1].spec, job.spec);
  EXPECT_EQ(read.jobs[1].state, job.state);
  EXPECT_EQ(read.jobs[1].phase, job.phase);
  EXPECT_EQ(read.jobs[1].exit_code, 143);
  EXPECT_EQ(read.jobs[1].replicas, job.replicas);
  EXPECT_EQ(read.jobs[1].supervisor_pid, 4711);
  EXPECT_EQ(read.jobs[1].ended_unix_ns, job.ended_unix_ns);
  EXPECT_EQ(read.jobs[1].further, "{}");
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
  EXPECT_FALSE(JobAnswer::decode(bytes).is_ok());
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
