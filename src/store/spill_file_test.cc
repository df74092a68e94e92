#include "store/spill_file.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/memory/memory_file.h"
#include "store/store_fakes.h"

namespace fray::store {
namespace {

os::Fd source_of(const std::string& text) {
  os::Fd file = os::memory_files().create(text.size()).value();
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  EXPECT_TRUE(os::memory_files().seal(file.get()).is_ok());
  return file;
}

class SpillFileTest : public testing::Test {
 protected:
  SpillFileTest() {
    char name[] = "/tmp/fray-spill-test-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~SpillFileTest() override { std::filesystem::remove_all(folder_); }
  bool folder_is_empty() const { return std::filesystem::is_empty(folder_); }

  std::string folder_;
};

TEST_F(SpillFileTest, HoldsTheSameBytesAndHasNoName) {
  std::string text(3 * kMiB + 5, 'x');
  text.back() = 'y';
  const os::Fd source = source_of(text);
  const SpillFile file = spill_to_file(source.get(), text.size(), folder_).value();
  EXPECT_EQ(file.size, text.size());
  std::string read(text.size(), '\0');
  EXPECT_EQ(::pread(file.descriptor.get(), read.data(), read.size(), 0), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(read, text);
  EXPECT_TRUE(folder_is_empty());
  struct stat facts {};
  ASSERT_EQ(::fstat(file.descriptor.get(), &facts), 0);
  EXPECT_EQ(facts.st_nlink, 0u);
  EXPECT_EQ(facts.st_size, static_cast<off_t>(text.size()));
}

TEST_F(SpillFileTest, ReadersCannotWrite) {
  const os::Fd source = source_of("bytes");
  const SpillFile file = spill_to_file(source.get(), 5, folder_).value();
  EXPECT_LT(::pwrite(file.descriptor.get(), "x", 1, 0), 0);
  EXPECT_LT(::ftruncate(file.descriptor.get(), 0), 0);
  EXPECT_NE(::fcntl(file.descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(SpillFileTest, SourceThatIsTooShortIsCorrupt) {
  const os::Fd source = source_of("bytes");
  EXPECT_EQ(spill_to_file(source.get(), 6, folder_).status().code(), StatusCode::kCorruption);
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(SpillFileTest, MissingFolderIsNamed) {
  const os::Fd source = source_of("bytes");
  const Status status = spill_to_file(source.get(), 5, folder_ + "/none").status();
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_NE(status.message().find(folder_ + "/none"), std::string::npos);
}

TEST_F(SpillFileTest, LimitOnFileSizesIsAnErrorAndNoSignal) {
  const os::Fd source = source_of(std::string(2 * kMiB, 'x'));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = kMiB;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto refused = spill_to_file(source.get(), 2 * kMiB, folder_);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(SpillFileTest, ExhaustedDescriptorsAreAnError) {
  const os::Fd source = source_of("bytes");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(source.get() + 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const auto refused = spill_to_file(source.get(), 5, folder_);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
}

// A full disk: /dev/full's cousin is a small tmpfs, which only root may mount; elsewhere this is all that cannot be
// tried.
TEST_F(SpillFileTest, FullDiskIsFoundBeforeCopyingAndSaysHowMuchIsNeeded) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mounting needs root";
  const os::Fd source = source_of(std::string(2 * kMiB, 'x'));
  const Status status = spill_to_file(source.get(), 2 * kMiB, folder_).status();
  const bool empty = folder_is_empty();
  const bool fits = spill_to_file(source.get(), kMiB / 2, folder_).is_ok();
  ::umount2(folder_.c_str(), MNT_DETACH);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("2097152 bytes needed"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("1048576 bytes free"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(folder_), std::string::npos);
  EXPECT_TRUE(empty);
  EXPECT_TRUE(fits);
}

}  // namespace
}  // namespace fray::store
