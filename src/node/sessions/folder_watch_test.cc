#include "node/sessions/folder_watch.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

namespace fray::node {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAtOnce{0};

class FolderWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-watch-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
    folder_ = home_ + "/run/node";
    std::filesystem::create_directories(folder_);
    loop_ = event::Loop::create().value();
    watch_ = FolderWatch::create(*loop_, folder_, [this] { ++removals_; }).value();
  }
  void TearDown() override {
    watch_.reset();
    std::filesystem::remove_all(home_);
  }

  std::string home_;
  std::string folder_;
  int removals_ = 0;
  std::unique_ptr<event::Loop> loop_;
  std::unique_ptr<FolderWatch> watch_;
};

TEST_F(FolderWatchTest, RemovalOfTheHomeIsToldOnce) {
  std::filesystem::remove_all(home_);
  loop_->run_once(milliseconds(60'000));
  loop_->run_once(kAtOnce);
  EXPECT_EQ(removals_, 1);
}

TEST_F(FolderWatchTest, FolderThatAProcessHasOpenIsRemovedAllTheSame) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  std::filesystem::remove_all(home_);
  std::filesystem::current_path(before);
  loop_->run_once(milliseconds(60'000));
  EXPECT_EQ(removals_, 1);
}

TEST_F(FolderWatchTest, FolderThatIsMadeAnewIsThatOfAnotherNode) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directory(folder_);
  loop_->run_once(kAtOnce);
  EXPECT_EQ(removals_, 1);
}

TEST_F(FolderWatchTest, OtherNodesAndTheFilesInTheFolderMayGo) {
  std::filesystem::create_directory(home_ + "/run/other");
  std::filesystem::remove(home_ + "/run/other");
  std::ofstream(folder_ + "/node.json") << "";
  std::filesystem::remove(folder_ + "/node.json");
  loop_->run_once(kAtOnce);
  EXPECT_EQ(removals_, 0);
}

TEST_F(FolderWatchTest, FolderThatIsMovedWithItsHomeIsNotRemoved) {
  std::filesystem::create_directory(home_ + "/run/other");
  std::filesystem::rename(home_, home_ + "-moved");
  std::filesystem::remove(home_ + "-moved/run/other");
  loop_->run_once(kAtOnce);
  EXPECT_EQ(removals_, 0);
  std::filesystem::rename(home_ + "-moved", home_);
}

TEST_F(FolderWatchTest, FolderWithoutAParentCannotBeWatched) {
  EXPECT_EQ(FolderWatch::create(*loop_, home_ + "/nowhere/node", [] {}).status().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace fray::node
