#include "os/run_folder.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/listener.h"
#include "os/peer.h"

namespace fray::os {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-run-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(RunFolderTest, MissingFolderIsMadeForItsOwnerOnly) {
  std::string path = root_ + "/mine";
  ASSERT_TRUE(make_private_folder(path).is_ok());
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0700u);
  EXPECT_TRUE(make_private_folder(path).is_ok());
}

TEST_F(RunFolderTest, FolderOpenToOthersIsRefused) {
  std::string path = root_ + "/open";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  Status made = make_private_folder(path);
  EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(made.message().find("0755"), std::string::npos) << made.message();
}

TEST_F(RunFolderTest, SymbolicLinkIsRefused) {
  std::filesystem::create_directory(root_ + "/real");
  std::filesystem::create_symlink(root_ + "/real", root_ + "/link");
  EXPECT_EQ(make_private_folder(root_ + "/link").code(), StatusCode::kInvalidArgument);
}

TEST_F(RunFolderTest, FolderOfAnotherUserIsRefused) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can make another user's folder";
  std::string path = root_ + "/foreign";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(make_private_folder(path).code(), StatusCode::kInvalidArgument);
}

TEST_F(RunFolderTest, SocketPathThatIsTooLongIsRefusedWithTheWayOut) {
  auto listener = Listener::listen(root_ + "/" + std::string(120, 'p'));
  EXPECT_EQ(listener.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(listener.status().message().find("FRAY_HOME"), std::string::npos);
}

TEST_F(RunFolderTest, ListenerAcceptsAndKnowsItsPeer) {
  std::string path = root_ + "/socket";
  {
    Listener listener = Listener::listen(path).value();
    Fd client = connect_to(path).value();
    bool more = false;
    auto accepted = listener.accept(&more);
    ASSERT_TRUE(accepted);
    Peer peer = peer_of(accepted->get()).value();
    EXPECT_EQ(peer.uid, ::getuid());
    EXPECT_EQ(peer.pid, ::getpid());
    EXPECT_TRUE(peer.pidfd.is_open());
    EXPECT_FALSE(listener.accept(&more));
    EXPECT_FALSE(more);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(connect_to(path).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fray::os
