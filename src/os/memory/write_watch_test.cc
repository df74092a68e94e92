#include "os/memory/write_watch.h"

#include <cstring>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fray::os {
namespace {

constexpr std::size_t kWatchedBytes = 64 * 4096;

class Memory {
 public:
  explicit Memory(int flags = MAP_PRIVATE | MAP_ANONYMOUS, void* at = nullptr)
      : data_(static_cast<char*>(::mmap(at, kWatchedBytes, PROT_READ | PROT_WRITE, flags, -1, 0))) {
    std::memset(data_, 'x', kWatchedBytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(data_, kWatchedBytes); }

  char* data() { return data_; }
  PageRange pages() const { return PageRange::inside(data_, kWatchedBytes); }

 private:
  char* data_;
};

class WriteWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!watch.begin(memory.pages())) GTEST_SKIP() << "the kernel has no asynchronous write protection";
  }

  Memory memory;
  WriteWatch watch;
};

TEST_F(WriteWatchTest, SeesAWriteToAnyPageOnce) {
  EXPECT_TRUE(watch.is_untouched(memory.pages()));
  EXPECT_TRUE(watch.is_untouched(memory.pages()));
  memory.data()[kWatchedBytes - 1] = 'x';  // what was there before
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
  ASSERT_TRUE(watch.begin_again(memory.pages()));
  EXPECT_TRUE(watch.is_untouched(memory.pages()));
  memory.data()[0] = 'y';
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
}

TEST_F(WriteWatchTest, SeesWhatTheKernelWrites) {
  const Fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::read(zeros.get(), memory.data() + 5000, 10), 10);
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
}

TEST_F(WriteWatchTest, SeesThatMemoryWasGivenBackToTheKernel) {
  ASSERT_EQ(::madvise(memory.data() + 8192, 4096, MADV_DONTNEED), 0);
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
}

TEST_F(WriteWatchTest, SeesThatOtherMemoryHasTakenThePlace) {
  const Memory other(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, memory.data());
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
}

TEST_F(WriteWatchTest, KnowsNothingInAChildOfForkAndLeavesTheParentAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool knew = watch.is_untouched(memory.pages());
    const bool begins = watch.begin(memory.pages());
    memory.data()[0] = 'y';
    ::_exit(knew || !begins || watch.is_untouched(memory.pages()) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(watch.is_untouched(memory.pages()));
}

TEST_F(WriteWatchTest, RefusesMemoryThatOtherProcessesMayWriteTo) {
  const Memory shared(MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_FALSE(watch.begin(shared.pages()));
}

TEST_F(WriteWatchTest, KnowsNothingOfSharedMemoryThatWasNotReadWhenItBegan) {
  Memory shared(MAP_SHARED | MAP_ANONYMOUS);
  ASSERT_EQ(::madvise(shared.data(), kWatchedBytes, MADV_DONTNEED), 0);
  ASSERT_TRUE(watch.begin(shared.pages()));  // no page is there that could tell
  EXPECT_EQ(std::string(shared.data(), kWatchedBytes), std::string(kWatchedBytes, 'x'));
  EXPECT_FALSE(watch.is_untouched(shared.pages()));
}

TEST_F(WriteWatchTest, KnowsNothingOnceALibraryIsLoadedByWhichDevicesWrite) {
  // A library with such a name, which is a copy of another one.
  Dl_info mathematics{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "cos"), &mathematics), 0);
  const std::filesystem::path folder = ::testing::TempDir() + "write_watch_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(mathematics.dli_fname, folder / "libcuda.so.1");
  ASSERT_TRUE(watch.is_untouched(memory.pages()));
  void* library = ::dlopen((folder / "libcuda.so.1").c_str(), RTLD_NOW);
  std::filesystem::remove_all(folder);
  ASSERT_NE(library, nullptr);
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
  EXPECT_FALSE(watch.begin(memory.pages()));
  ::dlclose(library);
}

TEST_F(WriteWatchTest, KnowsNothingOnceItHasEnded) {
  watch.end(memory.pages());
  EXPECT_FALSE(watch.is_untouched(memory.pages()));
}

TEST(PageRangeTest, HasOnlyThePagesThatAreFilled) {
  const auto* data = reinterpret_cast<const char*>(std::uintptr_t{0x10000});
  EXPECT_EQ(PageRange::inside(data, 8192), (PageRange{0x10000, 0x12000}));
  EXPECT_EQ(PageRange::inside(data + 1, 8192), (PageRange{0x11000, 0x12000}));
  EXPECT_TRUE(PageRange::inside(data + 1, 100).is_empty());
}

}  // namespace
}  // namespace fray::os
