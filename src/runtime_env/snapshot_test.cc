#include "runtime_env/snapshot.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/sockets/socket_pair.h"

namespace fray::runtime_env {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() { fs::create_directories(project_); }
  ~SnapshotTest() override {
    (void)cache_.prune(0).size();
    fs::remove_all(folder_);
  }

  void file(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(project_ + "/" + name).parent_path());
    std::ofstream(project_ + "/" + name) << text;
  }
  std::vector<std::string> listed() const {
    std::vector<std::string> paths;
    const std::vector<TreeItem> items = list_folder(project_, {}).value();
    for (const TreeItem& item : items) paths.push_back(item.path);
    return paths;
  }
  std::string snapshot() const {
    auto taken = take_snapshot(cache_, project_, BuildWatch());
    EXPECT_TRUE(taken.is_ok()) << taken.status().message();
    return taken.is_ok() ? taken->path() : "";
  }

  std::string folder_ = testing::TempDir() + "fray-snapshot-" + std::to_string(::getpid());
  std::string project_ = folder_ + "/project";
  EnvCache cache_ = [this] {
    fs::create_directories(folder_);
    return EnvCache::open(folder_ + "/cache").value();
  }();
};

TEST_F(SnapshotTest, LeavesOutWhatIgnoreFilesSay) {
  file(".gitignore", "*.log\n/out/\n");
  file("a.log", "");
  file("keep.txt", "");
  file("out/x", "");
  file("src/.gitignore", "!b.log\n");
  file("src/b.log", "");
  file("src/c.log", "");
  EXPECT_THAT(listed(), ElementsAre(".gitignore", "keep.txt", "src", "src/.gitignore", "src/b.log"));
  file(".frayignore", "!a.log\nkeep.txt\n");
  EXPECT_THAT(listed(), ElementsAre(".frayignore", ".gitignore", "a.log", "src", "src/.gitignore", "src/b.log"));
}

TEST_F(SnapshotTest, LeavesOutVersionControlCachesAndVirtualEnvironments) {
  file(".git/HEAD", "");
  file("a/__pycache__/a.pyc", "");
  file("venv/pyvenv.cfg", "");
  file("venv/lib/x.py", "");
  file("a/a.py", "");
  ASSERT_EQ(::mkfifo((project_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(listed(), ElementsAre("a", "a/a.py"));
}

TEST_F(SnapshotTest, EqualContentHasOneSnapshotAndChangedContentAnother) {
  file("a.py", "1");
  const std::string first = snapshot();
  EXPECT_EQ(snapshot(), first);
  file("a.py", "2");
  EXPECT_NE(snapshot(), first);
  file("a.py", "1");
  EXPECT_EQ(snapshot(), first);
  fs::permissions(project_ + "/a.py", fs::perms::owner_all);
  EXPECT_NE(snapshot(), first);
}

TEST_F(SnapshotTest, KeepsFilesLinksAndWhetherTheyCanBeRun) {
  file("run.sh", "#!/bin/sh\n");
  fs::permissions(project_ + "/run.sh", fs::perms::owner_all);
  file("data/x", "x");
  fs::create_symlink("data/x", project_ + "/inside");
  fs::create_symlink("../other", project_ + "/outside");
  const std::string tree = snapshot() + "/tree";
  EXPECT_EQ(::access((tree + "/run.sh").c_str(), X_OK), 0);
  EXPECT_EQ(fs::read_symlink(tree + "/inside"), "data/x");
  EXPECT_EQ(fs::read_symlink(tree + "/outside"), folder_ + "/other");
  struct stat found {};
  ASSERT_EQ(::stat((tree + "/data/x").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0400u);
}

TEST_F(SnapshotTest, AFolderThatIsTooLargeSaysWhatToDo) {
  for (int i = 0; i < 5; ++i) file(std::to_string(i), "x");
  auto taken = take_snapshot(cache_, project_, BuildWatch(), {.entries = 4});
  ASSERT_FALSE(taken.is_ok());
  EXPECT_EQ(taken.status().code(), StatusCode::kRuntimeEnv);
  EXPECT_THAT(taken.status().message(), HasSubstr(".frayignore"));
}

TEST_F(SnapshotTest, NoFolderAndNoArchiveAreErrors) {
  EXPECT_THAT(take_snapshot(cache_, folder_ + "/none", BuildWatch()).status().message(), HasSubstr("does not exist"));
  EXPECT_THAT(take_snapshot(cache_, "/dev/null", BuildWatch()).status().message(), HasSubstr("neither a folder nor"));
}

TEST_F(SnapshotTest, StopsWhenNobodyWantsIt) {
  file("a", "x");
  auto lifeline = os::make_socket_pair();
  BuildWatch watch;
  watch.lifeline_fd = lifeline->second.get();
  lifeline->first.reset();
  EXPECT_EQ(take_snapshot(cache_, project_, watch).status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(fs::is_empty(folder_ + "/cache/tmp"));
}

}  // namespace
}  // namespace fray::runtime_env
