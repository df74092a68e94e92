#include "node/environments/cached_environments.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "node/node_test_client.h"
#include "os/process/child_processes.h"

namespace fray::node {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Has the program `fray` do what this test program cannot.
class FraySpawner : public os::Spawner {
 public:
  Result<pid_t> spawn(const os::SpawnRequest& request) override {
    os::SpawnRequest changed = request;
    changed.command.front() = beside_this_test("fray");
    if (does_nothing) changed.command = {"/bin/sleep", "1000"};
    return os::spawn(changed);
  }
  bool does_nothing = false;
};

class CachedEnvironmentsTest : public testing::Test {
 protected:
  CachedEnvironmentsTest() {
    fs::create_directories(folder_ + "/project");
    std::ofstream(folder_ + "/project/module.py") << "x = 1\n";
    ::setenv("FRAY_HOME", (folder_ + "/state").c_str(), 1);
  }
  ~CachedEnvironmentsTest() override {
    environments_.forget("job");
    (void)os::kill_all_descendants(kPatience).is_ok();
    ::unsetenv("FRAY_HOME");
    fs::permissions(folder_, fs::perms::owner_all, fs::perm_options::add);
    fs::remove_all(folder_);
  }

  void prepare(const nlohmann::json& spec) {
    result_.reset();
    environments_.prepare(
        "job", spec.dump(), [this](const std::string& text) { states_.push_back(text); },
        [this](Result<JobEnvironments::Apply> made) { result_.emplace(std::move(made)); });
  }
  bool ends() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!result_ && std::chrono::steady_clock::now() < deadline) loop_->run_once(std::chrono::milliseconds(100));
    return result_.has_value();
  }
  bool in_use() const { return runtime_env::EnvCache::open(folder_ + "/state/cache").value().list().at(0).in_use; }

  std::string folder_ = testing::TempDir() + "fray-environments-" + std::to_string(::getpid());
  std::unique_ptr<event::Loop> loop_ = event::Loop::create().value();
  FraySpawner spawner_;
  CachedEnvironments environments_{*loop_, spawner_};
  std::vector<std::string> states_;
  std::optional<Result<JobEnvironments::Apply>> result_;
};

TEST_F(CachedEnvironmentsTest, AJobStartsInTheSnapshotAndHoldsItUntilItIsForgotten) {
  prepare({{"working_dir", folder_ + "/project"}});
  ASSERT_TRUE(ends());
  ASSERT_TRUE(result_->is_ok()) << result_->status().message();
  JobLaunch launch{{"python", "module.py"}, folder_ + "/project", {{"PYTHONPATH", "/mine"}}, {}};
  result_->value()(launch);
  EXPECT_THAT(launch.command, ElementsAre("python", "module.py"));
  EXPECT_TRUE(fs::exists(launch.folder + "/module.py"));
  EXPECT_THAT(launch.folder, HasSubstr("/state/cache/entries/"));
  EXPECT_EQ(launch.environment[0].second, launch.folder + ":/mine");
  EXPECT_THAT(states_, testing::Contains(HasSubstr("taking a snapshot")));
  EXPECT_TRUE(in_use());
  environments_.forget("job");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (in_use() && std::chrono::steady_clock::now() < deadline) loop_->run_once(std::chrono::milliseconds(10));
  EXPECT_FALSE(in_use());
}

TEST_F(CachedEnvironmentsTest, WhatAsksForNothingChangesNothing) {
  prepare({{"python", "/usr/bin/python3"}});
  ASSERT_TRUE(result_ && result_->is_ok());
  JobLaunch launch{{"true"}, "/", {}, {}};
  result_->value()(launch);
  EXPECT_THAT(launch.command, ElementsAre("true"));
}

TEST_F(CachedEnvironmentsTest, FailuresAreToldWithTheirReason) {
  prepare({{"working_dir", "/nowhere"}});
  ASSERT_TRUE(ends());
  EXPECT_EQ(result_->status().code(), StatusCode::kRuntimeEnv);
  EXPECT_THAT(result_->status().message(), HasSubstr("/nowhere does not exist"));
  prepare({{"pip", "six"}});
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CachedEnvironmentsTest, ProcessesThatMakeEnvironmentsAreKnownAndTheirDeathIsTold) {
  spawner_.does_nothing = true;
  prepare({{"working_dir", folder_ + "/project"}});
  auto children = os::children_of_this_process();
  ASSERT_EQ(children.size(), 1u);
  EXPECT_TRUE(environments_.is_preparer(children[0]));
  EXPECT_FALSE(environments_.is_preparer(::getpid()));
  ASSERT_EQ(::kill(children[0], SIGKILL), 0);
  ASSERT_TRUE(ends());
  EXPECT_THAT(result_->status().message(), HasSubstr("has died"));
}

}  // namespace
}  // namespace fray::node
