#include "node/sessions/session_folder.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fray::node {
namespace {

class SessionFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-home-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
    ASSERT_EQ(::setenv("FRAY_HOME", home_.c_str(), 1), 0);
  }
  void TearDown() override {
    ::unsetenv("FRAY_HOME");
    std::filesystem::remove_all(home_);
  }
  std::string home_;
};

TEST_F(SessionFolderTest, LivingNodesAreFoundTheNewestFirst) {
  SessionFolder older = SessionFolder::create("").value();
  SessionFolder newer = SessionFolder::create("").value();
  ASSERT_TRUE(older.announce(11, "0.1.0").is_ok());
  ASSERT_TRUE(newer.announce(22, "0.1.0").is_ok());
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(0, (older.path() + "/node.json").c_str(), times, 0), 0);
  std::vector<door::SessionInfo> sessions = door::find_sessions();
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].process.pid, 22);
  EXPECT_EQ(sessions[0].socket, newer.socket_path());
  EXPECT_EQ(sessions[1].process.pid, 11);
}

TEST_F(SessionFolderTest, InfoIsReadableForItsOwnerOnly) {
  SessionFolder folder = SessionFolder::create("").value();
  ASSERT_TRUE(folder.announce(1, "0.1.0").is_ok());
  struct stat found {};
  ASSERT_EQ(::stat((folder.path() + "/node.json").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
}

TEST_F(SessionFolderTest, FolderIsGoneAtTheEnd) {
  std::string path;
  {
    SessionFolder folder = SessionFolder::create("").value();
    path = folder.path();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SessionFolderTest, LeftoversOfADeadNodeAreRemovedAndOthersStay) {
  SessionFolder living = SessionFolder::create("").value();
  std::string run = home_ + "/run";
  std::filesystem::create_directory(run + "/dead");
  std::ofstream(run + "/dead/node.lock") << "";
  std::ofstream(run + "/dead/node.sock") << "";
  std::filesystem::create_directory(run + "/unknown");
  SessionFolder next = SessionFolder::create("").value();
  EXPECT_FALSE(std::filesystem::exists(run + "/dead"));
  EXPECT_TRUE(std::filesystem::exists(run + "/unknown"));
  EXPECT_TRUE(std::filesystem::exists(living.path()));
}

TEST_F(SessionFolderTest, SecondNodeInTheSameFolderIsRefused) {
  SessionFolder first = SessionFolder::create(home_ + "/session").value();
  EXPECT_EQ(SessionFolder::create(home_ + "/session").status().code(), StatusCode::kAlreadyExists);
}

TEST_F(SessionFolderTest, FolderOfADeadNodeIsTakenOverAtOnce) {
  std::filesystem::create_directory(home_ + "/session");
  std::filesystem::permissions(home_ + "/session", std::filesystem::perms::owner_all);
  for (const char* name : {"/node.lock", "/node.sock", "/node.json"}) std::ofstream(home_ + "/session" + name) << "";
  auto taken = SessionFolder::create(home_ + "/session");
  ASSERT_TRUE(taken.is_ok()) << taken.status().message();
  EXPECT_FALSE(std::filesystem::exists(taken->socket_path()));
}

TEST_F(SessionFolderTest, NodeIsFoundByItsFolderWhileItLives) {
  const std::string path = home_ + "/session";
  {
    SessionFolder folder = SessionFolder::create(path).value();
    EXPECT_FALSE(door::find_session(path)) << "it has not said yet that it can be spoken to";
    ASSERT_TRUE(folder.announce(::getpid(), "0.1.0").is_ok());
    auto found = door::find_session(path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->socket, folder.socket_path());
    EXPECT_EQ(found->release, "0.1.0");
    EXPECT_TRUE(found->process.exists());
    EXPECT_FALSE((os::ProcessName{::getpid(), found->process.started + 1}.exists()));
  }
  EXPECT_FALSE(door::find_session(path));
}

TEST_F(SessionFolderTest, FolderThatIsAnotherNodesByNowStaysWhenTheFirstNodeEnds) {
  const std::string path = home_ + "/session";
  auto first = std::make_unique<SessionFolder>(SessionFolder::create(path).value());
  std::filesystem::remove_all(path);
  SessionFolder second = SessionFolder::create(path).value();
  ASSERT_TRUE(second.announce(::getpid(), "0.1.0").is_ok());
  first.reset();
  EXPECT_TRUE(door::find_session(path));
}

// Whoever removes leftovers and whoever makes the folder anew at the same time must not end with a lock that is gone.
TEST_F(SessionFolderTest, CleaningAndTakingAtTheSameTimeLeavesOneOwner) {
  const std::string path = SessionFolder::create("").value().path();
  std::atomic<bool> stop{false};
  std::thread cleaner([&] {
    while (!stop) remove_stale_sessions(home_ + "/run");
  });
  for (int round = 0; round < 300; ++round) {
    std::filesystem::create_directory(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    std::ofstream(path + "/node.lock") << "";
    auto mine = SessionFolder::create(path);
    if (!mine.is_ok()) continue;  // the cleaner held the lock all the time
    ASSERT_TRUE(std::filesystem::exists(path + "/node.lock"));
    ASSERT_EQ(SessionFolder::create(path).status().code(), StatusCode::kAlreadyExists);
    break;
  }
  stop = true;
  cleaner.join();
}

}  // namespace
}  // namespace fray::node
