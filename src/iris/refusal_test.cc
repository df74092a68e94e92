#include "iris/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::iris {
namespace {

using testing::HasSubstr;
using testing::Not;

Endpoint controller_with(std::string token = "") {
  Endpoint made;
  made.address = {false, "controller", "10000", ""};
  made.token = {std::move(token), "the test"};
  made.service = kController;
  return made;
}

Refusal refused(unsigned status, std::string body, std::string type = "application/json", std::string token = "") {
  return refusal(controller_with(std::move(token)), "launch the job /bob/train",
                 {status, std::move(type), "", std::move(body)});
}

std::string said(const char* code, const char* message = "why") {
  return std::string(R"({"code": ")") + code + R"(", "message": ")" + message + R"("})";
}

TEST(IrisRefusalTest, every_code_of_a_controller_has_its_status) {
  struct Row {
    unsigned status;
    const char* code;
    StatusCode expected;
    bool is_passing;
  };
  for (const Row& row :
       {Row{404, "not_found", StatusCode::kNotFound, false},
        Row{400, "invalid_argument", StatusCode::kInvalidArgument, false},
        Row{400, "failed_precondition", StatusCode::kInvalidArgument, false},
        Row{409, "already_exists", StatusCode::kAlreadyExists, false},
        Row{401, "unauthenticated", StatusCode::kPermissionDenied, false},
        Row{403, "permission_denied", StatusCode::kPermissionDenied, false},
        Row{503, "unavailable", StatusCode::kUnavailable, true},
        Row{429, "resource_exhausted", StatusCode::kUnavailable, true},
        Row{504, "deadline_exceeded", StatusCode::kTimedOut, true},
        Row{501, "unimplemented", StatusCode::kVersionMismatch, false},
        Row{500, "internal", StatusCode::kInternal, false}, Row{500, "unknown", StatusCode::kInternal, false},
        // The code counts, whatever the status says.
        Row{200, "not_found", StatusCode::kNotFound, false}}) {
    const Refusal refusal = refused(row.status, said(row.code));
    EXPECT_EQ(refusal.status.code(), row.expected) << row.code;
    EXPECT_EQ(refusal.is_passing, row.is_passing) << row.code;
    EXPECT_TRUE(refusal.has_answered);
    EXPECT_EQ(refusal.code, row.code);
    EXPECT_THAT(refusal.status.message(), HasSubstr("http://controller:10000"));
  }
}

TEST(IrisRefusalTest, what_answers_in_a_controllers_place_is_told_apart) {
  const std::string html = "<html><body>Sign in</body></html>";
  EXPECT_THAT(refused(200, html, "text/html").status.message(), HasSubstr("no Iris controller"));
  EXPECT_FALSE(refused(200, html, "text/html").is_passing);
  EXPECT_TRUE(refused(502, html, "text/html").is_passing);
  EXPECT_EQ(refused(504, html, "text/html").status.code(), StatusCode::kTimedOut);
  EXPECT_EQ(refused(401, html, "text/html").status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(refused(302, "", "").status.message(), HasSubstr("elsewhere"));
  EXPECT_THAT(refused(404, "", "").status.message(), HasSubstr("no type"));
  // JSON, but not a controller's.
  EXPECT_THAT(refused(400, R"({"error": "Missing header"})").status.message(), HasSubstr("no Iris controller"));
}

TEST(IrisRefusalTest, of_a_traceback_only_the_error_is_repeated) {
  const Refusal refusal = refused(
      500, said("internal", "boom\\nTraceback (most recent call last):\\n  File \\\"x.py\\\"\\nKeyError: 'a'\\n"));
  EXPECT_THAT(refusal.status.message(), HasSubstr("KeyError: 'a'; the controller's log says more"));
  EXPECT_THAT(refusal.status.message(), Not(HasSubstr("Traceback")));
}

TEST(IrisRefusalTest, a_token_that_has_expired_is_named_by_its_place_and_never_repeated) {
  // {"sub":"bob","exp":1700000000}
  const std::string token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib2IiLCJleHAiOjE3MDAwMDAwMDB9.hidden-word";
  const std::string message = refused(401, said("unauthenticated"), "application/json", token).status.message();
  EXPECT_THAT(message, HasSubstr("the token from the test, which expired on 2023-11-14"));
  EXPECT_THAT(message, Not(HasSubstr("hidden-word")));
  EXPECT_THAT(refused(401, said("unauthenticated")).status.message(), HasSubstr("FRAY_IRIS_TOKEN"));
}

TEST(IrisRefusalTest, only_protobuf_with_status_200_is_a_success) {
  EXPECT_TRUE(is_success({200, "application/proto", "", ""}));
  EXPECT_FALSE(is_success({200, "application/json", "", "{}"}));
  EXPECT_FALSE(is_success({200, "text/html", "", ""}));
  EXPECT_FALSE(is_success({500, "application/proto", "", ""}));
}

}  // namespace
}  // namespace fray::iris
