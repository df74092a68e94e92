#include "runtime_env/build_watch.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/process/child_processes.h"
#include "os/sockets/socket_pair.h"

namespace fray::runtime_env {
namespace {

using testing::ElementsAre;

Program shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, "/"}; }

TEST(RunProgram, TellsEachLineAndHowItEnded) {
  std::vector<std::string> lines;
  auto end = run_program(shell("echo one; echo two >&2; echo three; exit 3"), BuildWatch(),
                         [&](const std::string& line) { lines.push_back(line); });
  ASSERT_TRUE(end.is_ok());
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->output, "one\ntwo\nthree\n");
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
}

TEST(RunProgram, AKilledProgramHasASignalsCode) {
  auto end = run_program(shell("kill -9 $$"), BuildWatch());
  ASSERT_TRUE(end.is_ok());
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
}

TEST(RunProgram, AProgramThatIsNotThereIsAnError) {
  auto end = run_program({{"/nowhere/uv"}, {}, "/"}, BuildWatch());
  ASSERT_FALSE(end.is_ok());
  EXPECT_EQ(end.status().code(), StatusCode::kNotFound);
}

TEST(RunProgram, EndsItWithEverythingBelowItWhenNobodyWantsItAnyMore) {
  auto lifeline = os::make_socket_pair();
  ASSERT_TRUE(lifeline.is_ok());
  BuildWatch watch;
  watch.lifeline_fd = lifeline->second.get();
  auto end = run_program(shell("sleep 1000 & echo started; wait"), watch,
                         [&](const std::string&) { lifeline->first.reset(); });
  ASSERT_FALSE(end.is_ok());
  EXPECT_EQ(end.status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(os::children_of_this_process().empty());
}

TEST(RunProgram, IsNotStartedWhenNobodyWantsItAnyMore) {
  auto lifeline = os::make_socket_pair();
  ASSERT_TRUE(lifeline.is_ok());
  BuildWatch watch;
  watch.lifeline_fd = lifeline->second.get();
  EXPECT_TRUE(watch.still_wanted().is_ok());
  lifeline->first.reset();
  EXPECT_EQ(run_program(shell("true"), watch).status().code(), StatusCode::kCancelled);
}

TEST(FindProgram, LooksInTheFoldersFirstAndThenOnThePath) {
  const std::string folder = testing::TempDir() + "fray-find-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/sh") << "";
  std::filesystem::permissions(folder + "/sh", std::filesystem::perms::owner_all);
  const Variables environment = {{"PATH", ":relative:/bin"}};
  EXPECT_EQ(find_program("sh", {folder}, environment), folder + "/sh");
  EXPECT_EQ(find_program("sh", {}, environment), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", {folder}, environment), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fray::runtime_env
