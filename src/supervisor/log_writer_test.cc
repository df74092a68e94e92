#include "supervisor/log_writer.h"

#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "supervisor/log_files.h"

namespace fray::supervisor {
namespace {

namespace fs = std::filesystem;

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() : folder_(testing::TempDir() + "/log_writer_XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    fd_ = os::Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~LogWriterTest() override { fs::remove_all(folder_); }

  std::string everything(std::uint64_t from = 0, std::uint64_t* missing = nullptr) {
    std::string text;
    for (std::uint64_t offset = from;;) {
      const LogRead read = read_log(folder_, "0.out", offset, 7);
      if (missing != nullptr) *missing += read.missing;
      if (read.bytes.empty()) return text;
      text += read.bytes;
      offset = read.offset + read.bytes.size();
    }
  }

  std::string folder_;
  os::Fd fd_;
};

TEST_F(LogWriterTest, BytesComeBackAsTheyWereWritten) {
  LogWriter writer(fd_.get(), "0.out", {});
  const std::string bytes("a\0\xff\nb\n", 6);
  writer.write(bytes);
  writer.close();
  EXPECT_EQ(everything(), bytes);
  EXPECT_EQ(log_end(folder_, "0.out"), 6u);
}

TEST_F(LogWriterTest, RotationRemovesWholeOldFilesAndReadersLearnHowMuchIsMissing) {
  LogWriter writer(fd_.get(), "0.out", {.segment_bytes = 10, .segments = 2});
  for (int i = 0; i < 5; ++i) writer.write("0123456789");
  writer.close();
  std::uint64_t missing = 0;
  EXPECT_EQ(everything(0, &missing), "01234567890123456789");
  EXPECT_EQ(missing, 30u);
  EXPECT_EQ(everything(40), "0123456789") << "offsets keep their meaning";
}

TEST_F(LogWriterTest, TailBeginsAtTheLastLinesAcrossFiles) {
  LogWriter writer(fd_.get(), "0.out", {.segment_bytes = 4, .segments = 100});
  for (const char* line : {"one\n", "two\n", "three\n", "end"}) writer.write(line);
  writer.close();
  EXPECT_EQ(everything(tail_offset(folder_, "0.out", 1)), "end");
  EXPECT_EQ(everything(tail_offset(folder_, "0.out", 2)), "three\nend");
  EXPECT_EQ(everything(tail_offset(folder_, "0.out", 0)), "");
  EXPECT_EQ(everything(tail_offset(folder_, "0.out", 99)), "one\ntwo\nthree\nend");
}

TEST_F(LogWriterTest, StreamWithoutFilesIsEmpty) {
  EXPECT_EQ(everything(), "");
  EXPECT_EQ(tail_offset(folder_, "0.out", 5), 0u);
  EXPECT_EQ(offset_at(folder_, "0.out", 1), 0u);
}

TEST_F(LogWriterTest, FilesOfOtherStreamsAreNotMixedIn) {
  LogWriter(fd_.get(), "10.out", {}).write("ten");
  LogWriter(fd_.get(), "0.err", {}).write("err");
  LogWriter(fd_.get(), "0.out", {}).write("out");
  EXPECT_EQ(everything(), "out");
}

}  // namespace
}  // namespace fray::supervisor
