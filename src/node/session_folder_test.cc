#include "node/session_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  ASSERT_TRUE(older.announce(11).is_ok());
  ASSERT_TRUE(newer.announce(22).is_ok());
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(0, (older.path() + "/node.json").c_str(), times, 0), 0);
  std::vector<SessionInfo> sessions = find_sessions();
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].pid, 22);
  EXPECT_EQ(sessions[0].socket, newer.socket_path());
  EXPECT_EQ(sessions[1].pid, 11);
}

TEST_F(SessionFolderTest, InfoIsReadableForItsOwnerOnly) {
  SessionFolder folder = SessionFolder::create("").value();
  ASSERT_TRUE(folder.announce(1).is_ok());
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

}  // namespace
}  // namespace fray::node
