#include "iris/own_task.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::iris {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

// The variables of a task, for the time of a test.
class IrisOwnTaskTest : public testing::Test {
 protected:
  ~IrisOwnTaskTest() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    set_.push_back(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void set_task(const std::string& id = "/bob/train/0") {
    set("IRIS_TASK_ID", id);
    set("IRIS_CONTROLLER_URL", "http://10.0.0.1:10000");
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(IrisOwnTaskTest, a_task_knows_its_job_in_whichever_attempt) {
  set_task("/bob/train/eval/3:2");
  ASSERT_TRUE(OwnTask::find());
  EXPECT_EQ(OwnTask::find()->job, "/bob/train/eval");
  EXPECT_EQ(OwnTask::find()->controller, "http://10.0.0.1:10000");
  EXPECT_EQ(usual_user(), "bob");
}

TEST_F(IrisOwnTaskTest, what_tells_of_no_task_is_none) {
  EXPECT_FALSE(OwnTask::find());
  for (const char* id : {"", "/bob/0", "bob/train/0", "0", "//train/0", "/bob/train/x/"}) {
    set_task(id);
    const auto found = OwnTask::find();
    EXPECT_TRUE(!found || found->job == "/bob/train/x") << id;
  }
  set_task();
  ::unsetenv("IRIS_CONTROLLER_URL");
  EXPECT_FALSE(OwnTask::find());
  set("IRIS_CONTROLLER_ADDRESS", "http://10.0.0.2:10000");
  EXPECT_EQ(OwnTask::find()->controller, "http://10.0.0.2:10000");
}

TEST_F(IrisOwnTaskTest, a_child_has_what_its_parent_has_where_it_says_nothing) {
  set_task();
  set("IRIS_BUNDLE_ID", "b1");
  set("IRIS_JOB_ENV", R"({"A": "parent", "B": "parent", "FRAY_SUBMISSION": "mark", "FRAY_JOB_METADATA": "{}"})");
  set("IRIS_JOB_EXTRAS", R"(["tpu"])");
  set("IRIS_JOB_PIP_PACKAGES", R"(["rich"])");
  set("IRIS_JOB_CONSTRAINTS", R"([{"key": "zone", "op": "CONSTRAINT_OP_EQ", "value": {"string_value": "z1"}},
                                  {"key": "region", "op": "CONSTRAINT_OP_IN",
                                   "values": [{"string_value": "r1"}, {"string_value": "r2"}]}])");
  JobRequest request;
  request.env_vars = {{"A", "own"}};
  OwnTask::find()->adopt(&request);
  EXPECT_EQ(request.parent, "/bob/train");
  EXPECT_EQ(request.env_vars, (std::map<std::string, std::string>{{"A", "own"}, {"B", "parent"}}));
  EXPECT_THAT(request.extras, ElementsAre("tpu"));
  EXPECT_THAT(request.pip_packages, ElementsAre("rich"));
  EXPECT_EQ(request.bundle_id, "b1");
  ASSERT_EQ(request.constraints.size(), 2u);
  EXPECT_EQ(request.constraints[1].values, (std::vector<std::string>{"r1", "r2"}));

  JobRequest other;
  other.extras = {"cpu"};
  other.pip_packages = {"numpy"};
  other.workspace = "/";
  other.constraints = {any_of("region", {"r9"}), any_of("zone", {"z9"})};
  OwnTask::find()->adopt(&other);
  EXPECT_THAT(other.extras, ElementsAre("cpu"));
  EXPECT_THAT(other.pip_packages, ElementsAre("numpy"));
  EXPECT_EQ(other.bundle_id, "");
  EXPECT_EQ(other.constraints.size(), 2u);
}

TEST_F(IrisOwnTaskTest, a_child_runs_in_the_region_of_its_parents_machine_unless_it_names_a_place) {
  set_task();
  set("IRIS_WORKER_REGION", "r1");
  JobRequest request;
  OwnTask::find()->adopt(&request);
  ASSERT_EQ(request.constraints.size(), 1u);
  EXPECT_EQ(request.constraints[0].key, "region");
  JobRequest placed;
  placed.constraints = {any_of("zone", {"z"})};
  OwnTask::find()->adopt(&placed);
  EXPECT_EQ(placed.constraints.size(), 1u);
}

TEST_F(IrisOwnTaskTest, the_tasks_own_folder_is_what_its_job_was_given) {
  const std::string folder = fs::temp_directory_path();
  set_task();
  set("IRIS_WORKDIR", folder);
  JobRequest request;
  request.workspace = folder + "/.";
  OwnTask::find()->adopt(&request);
  EXPECT_EQ(request.workspace, folder + "/.");  // its job was given none
  set("IRIS_BUNDLE_ID", "b1");
  OwnTask::find()->adopt(&request);
  EXPECT_EQ(request.workspace, "");
  EXPECT_EQ(request.bundle_id, "b1");
}

TEST_F(IrisOwnTaskTest, variables_that_are_no_json_are_as_if_they_were_not_there) {
  set_task();
  for (const char* name : {"IRIS_JOB_ENV", "IRIS_JOB_EXTRAS", "IRIS_JOB_PIP_PACKAGES", "IRIS_JOB_CONSTRAINTS"}) {
    for (const char* text : {"{", "[1, {}]", "{\"A\": 1}", R"([{"key": 1}, {"key": "zone", "value": 7}])", ""}) {
      set(name, text);
      const OwnTask task = OwnTask::find().value();
      EXPECT_THAT(task.env_vars, IsEmpty());
      EXPECT_THAT(task.extras, IsEmpty());
      EXPECT_THAT(task.constraints, IsEmpty());
    }
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace fray::iris
