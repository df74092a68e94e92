#include "os/process/child_processes.h"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/pidfd.h"
#include "os/process/spawn.h"
#include "os/sockets/socket_pair.h"

namespace fray::os {
namespace {

pid_t fork_sleeper() {
  pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  return pid;
}

// Runs `body` in a child of its own, so that its children are nobody else's. Its exit code is returned.
template <typename Body>
int in_child(Body body) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(ChildProcesses, KillAllReachesDetachedGrandchildren) {
  EXPECT_EQ(in_child([] {
              if (!become_subreaper().is_ok()) return 1;
              int ends[2];
              if (::pipe(ends) != 0) return 2;
              pid_t middle = ::fork();
              if (middle == 0) {
                ::setsid();
                pid_t orphan = fork_sleeper();
                if (::write(ends[1], &orphan, sizeof(orphan)) < 0) ::_exit(1);
                ::_exit(0);
              }
              pid_t orphan = 0;
              if (::read(ends[0], &orphan, sizeof(orphan)) != static_cast<ssize_t>(sizeof(orphan))) return 3;
              auto watched = open_pidfd(orphan);
              fork_sleeper();
              if (!watched.is_ok() || !kill_all_descendants(std::chrono::seconds(5)).is_ok()) return 4;
              return has_ended(*watched) && children_of_this_process().empty() ? 0 : 5;
            }),
            0);
}

TEST(ChildProcesses, ReapTellsHowAChildEnded) {
  EXPECT_EQ(in_child([] {
              pid_t pid = fork_sleeper();
              std::vector<pid_t> children = children_of_this_process();
              if (std::find(children.begin(), children.end(), pid) == children.end()) return 1;
              auto watched = open_pidfd(pid);
              if (!watched.is_ok() || reap_one()) return 2;
              if (!send_signal(*watched, SIGTERM).is_ok()) return 3;
              pollfd ready{watched->get(), POLLIN, 0};
              ::poll(&ready, 1, 5000);
              auto ended = reap_one();
              return ended && ended->pid == pid && WTERMSIG(ended->wait_status) == SIGTERM ? 0 : 4;
            }),
            0);
}

TEST(Pidfd, GoneProcessIsNotFound) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(open_pidfd(pid).status().code(), StatusCode::kNotFound);
}

TEST(Spawn, ProgramGetsItsEnvironmentDescriptorsAndFolder) {
  auto output = make_pipe().value();
  auto extra = make_pipe().value();
  SpawnRequest request;
  request.command = {"/bin/sh", "-c", "echo $WORD; pwd; echo three >&3"};
  request.folder = "/proc";
  request.environment = {{"WORD", "chosen"}};
  request.standard_output = output.second.get();
  request.fds = {{extra.second.get(), 3}};
  auto pid = spawn(request);
  ASSERT_TRUE(pid.is_ok()) << pid.status().message();
  ::waitpid(*pid, nullptr, 0);
  char text[64] = {};
  EXPECT_GT(::read(output.first.get(), text, sizeof(text) - 1), 0);
  EXPECT_STREQ(text, "chosen\n/proc\n");
  char three[16] = {};
  EXPECT_GT(::read(extra.first.get(), three, sizeof(three) - 1), 0);
  EXPECT_STREQ(three, "three\n");
}

TEST(Spawn, MissingProgramIsNamed) {
  SpawnRequest request;
  request.command = {"/nowhere/program"};
  auto pid = spawn(request);
  EXPECT_EQ(pid.status().code(), StatusCode::kNotFound);
  EXPECT_NE(pid.status().message().find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace fray::os
