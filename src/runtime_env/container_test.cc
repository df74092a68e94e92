#include "runtime_env/container.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/machine/machine.h"

namespace fray::runtime_env {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(ContainerOptions, ThePlainSetIsTriedFirstAndLimitsStayBelowOurOwn) {
  auto sets = options_to_try(true, 20'000);
  EXPECT_THAT(sets.front(), IsEmpty());
  EXPECT_THAT(sets[1], Contains("--ulimit=nofile=19999:19999"));
  EXPECT_THAT(sets.back(), ElementsAre("--runtime=runc", "--ulimit=nofile=19999:19999", testing::_));
  for (const auto& set : options_to_try(false, 20'000)) EXPECT_THAT(set, Not(Contains(StartsWith("--runtime"))));
}

// A stand-in for podman that writes down what it is told, and refuses what the file `refuse` names.
class ContainerTest : public testing::Test {
 protected:
  ContainerTest() {
    fs::create_directories(folder_);
    std::ofstream(folder_ + "/podman") << "#!/bin/sh\necho \"$*\" >> " << folder_ << "/calls\n"
                                       << "case \"$*\" in *absent*) echo no such image; exit 125;; esac\n"
                                       << "if [ -e " << folder_
                                       << "/limits ]; then case \"$*\" in *ulimit*|*inspect*) ;; "
                                       << "*) echo cannot raise limits; exit 126;; esac; fi\nexit 0\n";
    fs::permissions(folder_ + "/podman", fs::perms::owner_all);
    spec_.container_image = "localhost/image";
    spec_.purpose = "worker";
  }
  ~ContainerTest() override { fs::remove_all(folder_); }
  Result<ContainerEngine> find() const { return find_container_engine(cache_, spec_, environment_, BuildWatch()); }
  std::size_t runs() const {
    std::size_t count = 0;
    std::istringstream lines(os::read_text(folder_ + "/calls"));
    for (std::string line; std::getline(lines, line);) count += line.find("run --rm") != std::string::npos ? 1 : 0;
    return count;
  }

  std::string folder_ = testing::TempDir() + "fray-container-" + std::to_string(::getpid());
  Variables environment_ = {{"PATH", folder_ + ":/usr/bin:/bin"}, {"FRAY_HOME", "/x"}, {"TOKEN", "hunter2"}};
  RuntimeEnvSpec spec_;
  EnvCache cache_ = [this] {
    fs::create_directories(folder_);
    return EnvCache::open(folder_ + "/cache").value();
  }();
};

TEST_F(ContainerTest, WhatWorksIsTriedOnce) {
  auto engine = find();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  EXPECT_THAT(engine->options, IsEmpty());
  EXPECT_EQ(runs(), 1u);
  ASSERT_TRUE(find().is_ok());
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ContainerTest, WhereThePlainOptionsFailOthersAreTried) {
  std::ofstream(folder_ + "/limits") << "";
  auto engine = find();
  ASSERT_TRUE(engine.is_ok()) << engine.status().message();
  EXPECT_THAT(engine->options, Contains(StartsWith("--ulimit=nofile=")));
}

TEST_F(ContainerTest, AnAbsentImageIsAnErrorWithTheEnginesWords) {
  spec_.container_image = "localhost/absent";
  auto engine = find();
  ASSERT_FALSE(engine.is_ok());
  EXPECT_EQ(engine.status().code(), StatusCode::kRuntimeEnv);
  EXPECT_THAT(engine.status().message(), AllOf(HasSubstr("localhost/absent"), HasSubstr("no such image")));
}

TEST_F(ContainerTest, ValuesOfVariablesAreNoArguments) {
  spec_.variables = {"TOKEN"};
  auto command = container_command(find().value(), spec_, "", environment_);
  EXPECT_THAT(command, AllOf(Contains("--env=TOKEN"), Contains("--env=FRAY_HOME"), Contains("--preserve-fds=2")));
  EXPECT_THAT(command, Not(Contains(HasSubstr("hunter2"))));
  EXPECT_EQ(command[command.size() - 2], "--");
  EXPECT_EQ(command.back(), "localhost/image");
}

TEST_F(ContainerTest, DockerAloneRunsJobsOnly) {
  fs::rename(folder_ + "/podman", folder_ + "/docker");
  environment_ = {{"PATH", folder_}};
  EXPECT_THAT(find().status().message(), HasSubstr("need podman"));
  environment_ = {{"PATH", folder_ + "/nothing"}};
  EXPECT_THAT(find().status().message(), HasSubstr("neither podman nor docker"));
}

}  // namespace
}  // namespace fray::runtime_env
