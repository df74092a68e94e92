#include "ray/refusal.h"

#include <gtest/gtest.h>

namespace fray::ray {
namespace {

Endpoint endpoint(std::string token = "") {
  Endpoint made;
  made.address = {false, "head", "8265", ""};
  made.token = {std::move(token), "RAY_AUTH_TOKEN"};
  return made;
}

TEST(RefusalTest, every_documented_answer_has_its_code) {
  struct Row {
    unsigned status;
    const char* body;
    StatusCode code;
  };
  for (const Row& row :
       {Row{401, "Unauthorized: Missing authentication token", StatusCode::kPermissionDenied},
        Row{403, "Forbidden: Invalid authentication token", StatusCode::kPermissionDenied},
        Row{404, "Job a does not exist", StatusCode::kNotFound},
        Row{400, "Can only stop submission type jobs", StatusCode::kInvalidArgument},
        Row{400, "Traceback\nTypeError: unknown field", StatusCode::kInvalidArgument},
        Row{405, "Method Not Allowed", StatusCode::kInvalidArgument},
        Row{413, "Maximum request body size exceeded", StatusCode::kResourceExhausted},
        Row{500, "ValueError: Job with submission_id a already exists", StatusCode::kAlreadyExists},
        Row{500, "in a non-terminal state PENDING", StatusCode::kInvalidArgument},
        Row{500, "No available agent to submit job, please try again later.", StatusCode::kUnavailable},
        Row{500, "Traceback\nKeyError: 1", StatusCode::kInternal}, Row{502, "<html>", StatusCode::kUnavailable},
        Row{503, "", StatusCode::kUnavailable}, Row{302, "", StatusCode::kUnavailable}}) {
    const Status status = refusal(endpoint(), "submit the job", row.status, row.body);
    EXPECT_EQ(status.code(), row.code) << row.status << " " << row.body;
    EXPECT_NE(status.message().find("http://head:8265"), std::string::npos) << status.message();
  }
}

TEST(RefusalTest, of_a_traceback_only_the_error_is_repeated) {
  const Status status =
      refusal(endpoint(), "submit the job", 400,
              "Traceback (most recent call last):\n  File \"x.py\"\nTypeError: no field \x1b[31mfoo\n\n");
  EXPECT_EQ(status.message().find("Traceback"), std::string::npos);
  EXPECT_NE(status.message().find("TypeError: no field  [31mfoo"), std::string::npos) << status.message();
}

TEST(RefusalTest, a_wrong_token_is_named_by_its_place_and_never_repeated) {
  const Status status = refusal(endpoint("hidden-word"), "list the jobs", 403, "Forbidden: hidden-word");
  EXPECT_EQ(status.message().find("hidden-word"), std::string::npos);
  EXPECT_NE(status.message().find("RAY_AUTH_TOKEN"), std::string::npos);
}

TEST(RefusalTest, only_answers_before_anything_happened_are_worth_repeating) {
  EXPECT_TRUE(is_worth_repeating(500, "No available agent to submit job, please try again later."));
  EXPECT_TRUE(is_worth_repeating(503, ""));
  EXPECT_FALSE(is_worth_repeating(500, "ValueError"));
  EXPECT_FALSE(is_worth_repeating(400, ""));
}

}  // namespace
}  // namespace fray::ray
