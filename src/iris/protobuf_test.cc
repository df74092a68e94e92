#include "iris/protobuf.h"

#include <gtest/gtest.h>

#include "iris/messages.h"

namespace fray::iris {
namespace {

using namespace std::string_literals;

TEST(IrisProtobufTest, bytes_are_those_that_were_seen_on_the_wire) {
  EXPECT_EQ(encode(wire::GetJobStatusRequest{"/system/"}), "\x0a\x08/system/");
  EXPECT_EQ(encode(wire::GetJobStatusRequest{}), "");
  // What Python's library makes of the same task.
  wire::TaskStatus task{.task_id = "/b/j/0", .state = wire::TASK_STATE_FAILED, .exit_code = -9};
  task.started_at = wire::Timestamp{300};
  EXPECT_EQ(encode(task), "\x0a\x06/b/j/0\x20\x05\x38\xf7\xff\xff\xff\xff\xff\xff\xff\xff\x01\x4a\x03\x08\xac\x02"s);
}

TEST(IrisProtobufTest, what_is_written_is_read_again) {
  wire::LaunchJobRequest request;
  request.name = "/bob/train";
  request.entrypoint =
      wire::RuntimeEntrypoint{.setup_commands = {"a", ""}, .workdir_files = {{"x", "\0\xff"s}, {"", ""}}};
  request.resources = wire::ResourceSpec{.cpu_millicores = -1, .memory_bytes = std::int64_t{1} << 40};
  request.constraints.push_back({.key = "k", .value = wire::AttributeValue{.float_value = 0.5}});
  request.constraints.push_back({.value = wire::AttributeValue{.string_value = ""}});
  request.timeout = wire::Duration{};
  request.fail_if_exists = true;
  wire::LaunchJobRequest read;
  ASSERT_TRUE(decode(encode(request), read));
  EXPECT_EQ(encode(read), encode(request));
  EXPECT_EQ(read.entrypoint->workdir_files.at("x"), "\0\xff"s);
  EXPECT_EQ(read.entrypoint->setup_commands, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(read.resources->cpu_millicores, -1);
  EXPECT_EQ(read.resources->memory_bytes, std::int64_t{1} << 40);
  EXPECT_EQ(read.constraints[0].value->float_value, 0.5);
  EXPECT_EQ(read.constraints[1].value->string_value, "");
  EXPECT_TRUE(read.timeout.has_value());
  EXPECT_FALSE(read.scheduling_timeout.has_value());
  EXPECT_TRUE(read.fail_if_exists);
}

TEST(IrisProtobufTest, fields_of_later_controllers_are_passed_over) {
  wire::LaunchJobResponse answer;
  ASSERT_TRUE(decode(
      "\xf8\x07\x96\x01\x0a\x02/a\xfa\x07\x03xyz\xfd\x07\x01\x02\x03\x04\xf9\x07\x01\x02\x03\x04\x05\x06\x07\x08"s,
      answer));
  EXPECT_EQ(answer.job_id, "/a");
}

TEST(IrisProtobufTest, of_a_field_that_comes_twice_the_later_one_counts) {
  wire::LaunchJobResponse answer;
  ASSERT_TRUE(decode("\x0a\x01x\x0a\x01y", answer));
  EXPECT_EQ(answer.job_id, "y");
}

TEST(IrisProtobufTest, bytes_that_break_the_format_are_refused) {
  for (const std::string& bytes : {"\x0a"s, "\x0a\x05x"s, "\x08"s, "\x00"s, "\x0b\x0c"s, "\x09\x01"s, "\x0d\x01"s,
                                   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x08\x01"s,
                                   "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}) {
    wire::LaunchJobResponse answer;
    EXPECT_FALSE(decode(bytes, answer)) << bytes.size();
  }
}

TEST(IrisProtobufTest, the_numbers_of_states_that_are_not_known_are_kept) {
  wire::JobStatus status;
  ASSERT_TRUE(decode("\x10\x63", status));
  EXPECT_EQ(static_cast<int>(status.state), 99);
}

}  // namespace
}  // namespace fray::iris
