#include "iris/job_secret.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace fray::iris {
namespace {

// The variables of a task while a test runs.
class IrisJobSecretTest : public testing::Test {
 protected:
  static void be_task(const char* id, const char* secret) {
    ASSERT_EQ(::setenv("IRIS_TASK_ID", id, 1), 0);
    ASSERT_EQ(::setenv(kSecretVariable, secret, 1), 0);
  }
  void TearDown() override {
    ::unsetenv("IRIS_TASK_ID");
    ::unsetenv(kSecretVariable);
  }
  static std::string secret_of(const std::string& parent) {
    JobRequest request;
    request.name = "job";
    request.parent = parent;
    give_secret(&request);
    return request.env_vars.contains(kSecretVariable) ? request.env_vars[kSecretVariable] : "none";
  }
};

TEST_F(IrisJobSecretTest, each_root_job_has_a_secret_of_its_own) {
  be_task("/bob/train/0", "ours");
  const std::string first = secret_of("");
  EXPECT_GE(first.size(), 32U);
  EXPECT_NE(first, "ours");
  EXPECT_NE(first, secret_of(""));
}

TEST_F(IrisJobSecretTest, children_have_that_of_the_task_that_launches_them) {
  be_task("/bob/train/eval/3:2", "ours");
  EXPECT_EQ(secret_of("/bob/train"), "ours");
  EXPECT_EQ(secret_of("/bob/train/eval"), "ours");
  EXPECT_EQ(secret_of("/bob/train/other/deep"), "ours");
}

TEST_F(IrisJobSecretTest, children_in_another_tree_learn_no_secret) {
  be_task("/bob/train/0", "ours");
  for (const char* parent : {"/bob/trainer", "/bob/tra", "/ann/train", "/bob"}) EXPECT_EQ(secret_of(parent), "none");
  be_task("/bob/train/0", "");
  EXPECT_EQ(secret_of("/bob/train"), "none");
  TearDown();
  EXPECT_EQ(secret_of("/bob/train"), "none");
}

TEST_F(IrisJobSecretTest, secret_that_was_asked_for_stays) {
  JobRequest request;
  request.env_vars[kSecretVariable] = "mine";
  give_secret(&request);
  EXPECT_EQ(request.env_vars[kSecretVariable], "mine");
}

}  // namespace
}  // namespace fray::iris
