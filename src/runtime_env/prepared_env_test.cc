#include "runtime_env/prepared_env.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fray::runtime_env {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(PreparedEnv, PackagesComeBeforeThoseOfTheDriverAndAfterItsOwnModules) {
  PreparedEnv prepared;
  prepared.module_path = {"/cache/site"};
  EXPECT_THAT(prepared.module_path_for({"/srv/me", "/usr/lib/python3.11", "/venv/lib/site-packages", "/more"}),
              ElementsAre("/srv/me", "/usr/lib/python3.11", "/cache/site", "/venv/lib/site-packages", "/more"));
  EXPECT_THAT(prepared.module_path_for({"/srv/me"}), ElementsAre("/srv/me", "/cache/site"));
}

TEST(PreparedEnv, ModulesOfTheWorkingDirComeFromItsSnapshotWhereTheyAreInIt) {
  const std::string snapshot = testing::TempDir() + "fray-prepared-" + std::to_string(::getpid());
  std::filesystem::create_directories(snapshot + "/src");
  PreparedEnv prepared;
  prepared.folder = snapshot;
  prepared.folder_was = "/project";
  EXPECT_THAT(prepared.module_path_for({"/project", "/project/src", "/project/.venv/site-packages", "/projects"}),
              ElementsAre(snapshot, snapshot + "/src", "/project/.venv/site-packages", "/projects"));
  std::filesystem::remove_all(snapshot);
}

TEST(PreparedEnv, ListsArePrependedToAndOtherVariablesReplaced) {
  PreparedEnv prepared;
  prepared.prepended = {{"PATH", "/cache/bin"}, {"PYTHONPATH", "/cache/site"}, {"EMPTY", "/x"}};
  prepared.set = {{"CONDA_PREFIX", "/cache"}, {"A", "new"}};
  Variables environment = {{"PATH", "/bin"}, {"A", "old"}, {"EMPTY", ""}};
  prepared.apply_to(environment);
  EXPECT_THAT(environment, ElementsAre(Pair("PATH", "/cache/bin:/bin"), Pair("A", "new"), Pair("EMPTY", "/x"),
                                       Pair("PYTHONPATH", "/cache/site"), Pair("CONDA_PREFIX", "/cache")));
}

TEST(PreparedEnv, ComesBackFromItsText) {
  PreparedEnv prepared;
  prepared.python = "/conda/bin/python";
  prepared.set = {{"A", "b=c"}};
  prepared.wrapper = {"podman", "run"};
  prepared.own_module_path = true;
  auto read = parse_prepared_env(to_json(prepared));
  ASSERT_TRUE(read.is_ok());
  EXPECT_EQ(read->python, prepared.python);
  EXPECT_EQ(read->set, prepared.set);
  EXPECT_THAT(read->wrapped({"true"}), ElementsAre("podman", "run", "true"));
  EXPECT_TRUE(read->own_module_path);
  EXPECT_FALSE(parse_prepared_env("{}").is_ok());
  EXPECT_FALSE(parse_prepared_env("no").is_ok());
}

}  // namespace
}  // namespace fray::runtime_env
