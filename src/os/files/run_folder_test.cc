#include "os/files/run_folder.h"

#include <filesystem>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/sockets/listener.h"
#include "os/sockets/peer.h"

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

TEST_F(RunFolderTest, SocketInADeepFolderIsReached) {
  const std::string folder = root_ + "/" + std::string(150, 'p') + "/" + std::string(150, 'q');
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/node.sock";
  EXPECT_EQ(connect_to(path).status().code(), StatusCode::kUnavailable);
  Listener listener = Listener::listen(path).value();
  Fd client = connect_to(path).value();
  EXPECT_TRUE(Fd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)).is_open());
  EXPECT_EQ(connect_to(root_ + "/none/" + folder + "/node.sock").status().code(), StatusCode::kUnavailable);
}

TEST_F(RunFolderTest, SocketNameThatIsTooLongIsRefused) {
  auto listener = Listener::listen(root_ + "/" + std::string(120, 'p'));
  EXPECT_EQ(listener.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RunFolderTest, HomeThatIsNoAbsolutePathIsRefused) {
  ::setenv("FRAY_HOME", "here", 1);
  Status checked = open_run_folder().status();
  ::unsetenv("FRAY_HOME");
  EXPECT_EQ(checked.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(checked.message().find("here"), std::string::npos);
}

TEST_F(RunFolderTest, HomeThatIsTooLongOrNoUtf8IsRefused) {
  for (const std::string& home : {root_ + "/" + std::string(400, 'h'), root_ + "/h\xFF"}) {
    ::setenv("FRAY_HOME", home.c_str(), 1);
    const Status checked = open_run_folder().status();
    ::unsetenv("FRAY_HOME");
    EXPECT_EQ(checked.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(checked.message().find(home.back() == 'h' ? "at most 400 bytes" : "/h\\xFF;"), std::string::npos)
        << checked.message();
  }
}

TEST_F(RunFolderTest, HomeHoldsWhatLastsInPrivateFolders) {
  ::setenv("FRAY_HOME", (root_ + "/a/home").c_str(), 1);
  auto logs = open_home_folder("logs");
  const std::string node = started_node_folder();
  ::unsetenv("FRAY_HOME");
  ASSERT_TRUE(logs.is_ok()) << logs.status().message();
  EXPECT_EQ(*logs, root_ + "/a/home/logs");
  EXPECT_EQ(node, root_ + "/a/home/run/node");
  struct stat found {};
  ASSERT_EQ(::stat(logs->c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0700u);
}

TEST_F(RunFolderTest, ListenerAcceptsAndKnowsItsPeer) {
  std::string path = root_ + "/socket";
  {
    Listener listener = Listener::listen(path).value();
    Fd client = connect_to(path).value();
    const Fd accepted(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ASSERT_TRUE(accepted.is_open());
    Peer peer = peer_of(accepted.get()).value();
    EXPECT_EQ(peer.uid, ::getuid());
    EXPECT_EQ(peer.pid, ::getpid());
    EXPECT_TRUE(peer.pidfd.is_open());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(connect_to(path).status().code(), StatusCode::kUnavailable);
}

TEST_F(RunFolderTest, SocketThatAnotherListenerHasMadeAtThePathStays) {
  const std::string path = root_ + "/socket";
  auto first = std::make_unique<Listener>(Listener::listen(path).value());
  std::filesystem::remove(path);
  Listener second = Listener::listen(path).value();
  first.reset();
  EXPECT_TRUE(connect_to(path).is_ok());
}

TEST_F(RunFolderTest, ConnectingSaysWhenTheQueueOfTheListenerIsFull) {
  const std::string path = root_ + "/socket";
  Listener listener = Listener::listen(path, 1).value();
  std::vector<Fd> waiting;
  Status refused = Status::ok();
  while (refused.is_ok()) {
    ASSERT_LE(waiting.size(), 2u);
    auto socket = connect_to(path);
    refused = socket.status();
    if (socket.is_ok()) waiting.push_back(std::move(socket).value());
  }
  EXPECT_EQ(refused.code(), StatusCode::kTimedOut);
  ASSERT_FALSE(waiting.empty());
  EXPECT_NE(::fcntl(waiting.front().get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace fray::os
