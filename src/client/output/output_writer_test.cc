#include "client/output/output_writer.h"

#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client_test_node.h"

namespace fray::client {
namespace {

using namespace std::chrono_literals;

// A pipe whose reading end is read when a test says so.
class OutputPipe {
 public:
  OutputPipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~OutputPipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void be_non_blocking() { ASSERT_EQ(::fcntl(ends_[1], F_SETFL, O_NONBLOCK), 0); }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  // Until `end` was read.
  std::string read_until(const std::string& end) {
    std::string text;
    std::vector<char> piece(8192);
    while (!text.ends_with(end)) {
      const ssize_t got = ::read(ends_[0], piece.data(), piece.size());
      if (got <= 0) break;
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

OutputWriter::Settings settings_for(const OutputPipe& out, const OutputPipe& err) {
  OutputWriter::Settings settings;
  settings.descriptors = {out.writer(), err.writer()};
  return settings;
}

wire::Log line_of(std::string text, std::uint8_t stream = 1, std::int32_t pid = 7) {
  wire::Log log;
  log.pid = pid;
  log.stream = stream;
  log.task = "talk";
  log.text = std::move(text) + "\n";
  return log;
}

constexpr auto always = [] { return true; };

TEST(OutputWriter, LinesOfEachStreamArriveWholeAndInOrderWithTheirPrefix) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  wire::Log two = line_of("first\nsecond");
  writer.add(two);
  writer.add(line_of("wrong", 2));
  writer.add(line_of("third", 1, 8));
  EXPECT_EQ(out.read_until("third\n"), "(talk pid=7) first\n(talk pid=7) second\n(talk pid=8) third\n");
  EXPECT_EQ(err.read_until("wrong\n"), "(talk pid=7) wrong\n");
}

TEST(OutputWriter, AFullPipeMakesNobodyWaitAndLosesNothingWhenItIsRead) {
  for (bool non_blocking : {false, true}) {
    OutputPipe out, err;
    if (non_blocking) out.be_non_blocking();
    OutputWriter writer(settings_for(out, err));
    std::string expected;
    for (int i = 0; i < 20'000; ++i) {
      writer.add(line_of(std::to_string(i)));
      expected += "(talk pid=7) " + std::to_string(i) + "\n";
    }
    writer.add(line_of(std::string(100'000, 'x')));
    writer.add(line_of("end"));
    expected += "(talk pid=7) " + std::string(100'000, 'x') + "\n(talk pid=7) end\n";
    EXPECT_EQ(out.read_until("end\n"), expected);
  }
}

TEST(OutputWriter, AStreamThatNobodyReadsHoldsTheOtherUpForAMomentOnly) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  writer.add(line_of(std::string(1'000'000, 'x')));
  writer.add(line_of("heard", 2));
  EXPECT_EQ(err.read_until("heard\n"), "(talk pid=7) heard\n");
}

TEST(OutputWriter, WorkersAreAskedToWaitUntilHalfOfALongQueueIsRead) {
  OutputPipe out, err;
  OutputWriter::Settings settings = settings_for(out, err);
  settings.queue_bytes = 400'000;
  OutputWriter writer(settings);
  EXPECT_FALSE(writer.wants_less(false));
  for (int i = 0; i < 600; ++i) writer.add(line_of(std::string(1'000, 'x')));
  EXPECT_TRUE(writer.wants_less(false));
  writer.add(line_of("end"));
  out.read_until("end\n");
  EXPECT_FALSE(writer.wants_less(true));
}

TEST(OutputWriter, LinesThatNobodyReadsInTimeAreCountedWhereTheyAreMissing) {
  OutputPipe out, err;
  OutputWriter::Settings settings = settings_for(out, err);
  settings.queue_bytes = 100'000;
  settings.patience = 0ms;
  OutputWriter writer(settings);
  for (int i = 0; i < 400; ++i) writer.add(line_of(std::string(1'000, 'x')));
  EXPECT_FALSE(writer.wants_less(true)) << "workers would wait for ever";
  std::string shown = out.read_until(" s\n");
  EXPECT_NE(shown.find("(fray) "), std::string::npos);
  EXPECT_NE(shown.find(" lines that workers printed are missing here: nobody read"), std::string::npos);
}

TEST(OutputWriter, WhatIsSaidToAPipeWithoutReaderIsLostAndToldOnce) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  out.close_reader();
  writer.add(line_of("to nobody"));
  writer.finish(10s, always);
  writer.add(line_of("nor this"));
  writer.finish(10s, always);
  writer.add(line_of("end", 2));
  EXPECT_EQ(err.read_until("end\n"),
            "(fray) what workers print to this program's standard output is lost: Broken pipe\n(talk pid=7) end\n");
}

TEST(OutputWriter, ADescriptorThatIsNoStandardStreamIsNotWrittenTo) {
  OutputPipe out, err;
  ASSERT_EQ(::fcntl(out.writer(), F_SETFD, FD_CLOEXEC), 0);  // as of a file that the program opened after it closed 1
  OutputWriter writer(settings_for(out, err));
  writer.add(line_of("not into a file of somebody else"));
  writer.finish(10s, always);
  ASSERT_EQ(::fcntl(out.writer(), F_SETFD, 0), 0);
  writer.add(line_of("end"));
  EXPECT_EQ(out.read_until("end\n"), "(talk pid=7) end\n");
}

TEST(OutputWriter, TheEndWaitsForAReaderAsLongAsItReads) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  for (int i = 0; i < 1'000; ++i) writer.add(line_of(std::string(1'000, 'x')));
  writer.add(line_of("end"));
  std::string shown;
  std::thread reader([&] { shown = out.read_until("end\n"); });
  writer.finish(10s, always);
  reader.join();
  EXPECT_TRUE(shown.ends_with("end\n"));
}

TEST(OutputWriter, TheEndGivesAPipeUpThatNobodyReadsAndSaysSo) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  for (int i = 0; i < 1'000; ++i) writer.add(line_of(std::string(1'000, 'x')));
  writer.finish(1s, always);
  writer.add(line_of("end", 2));
  EXPECT_EQ(err.read_until("end\n"),
            "(fray) what workers print to this program's standard output is lost: nobody has read it for 1 s\n"
            "(talk pid=7) end\n");
}

TEST(OutputWriter, TheEndStopsWaitingWhenItIsAskedTo) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  for (int i = 0; i < 1'000; ++i) writer.add(line_of(std::string(1'000, 'x')));
  writer.finish(1h, [] { return false; });
}

TEST(OutputWriter, AForkedChildHasAWriterOfItsOwn) {
  OutputWriter* parents = &OutputWriter::of_process();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(&OutputWriter::of_process() == parents ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(&OutputWriter::of_process(), parents);
}

std::ptrdiff_t threads_of_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// As when a worker still writes why it ends while its driver closes its context, after it has drained the output.
TEST(OutputOfAClient, ALineThatComesAtTheVeryEndLeavesNoThreadBehind) {
  OutputPipe out, err;
  OutputWriter writer(settings_for(out, err));
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own with the first
  const std::ptrdiff_t before = threads_of_process();
  ClientOptions options;
  options.output = &writer;
  PlayedNode node(std::move(options));
  node.send(wire::ControlType::kLog, 0, line_of("the last words"));
  EXPECT_EQ(out.read_until("words\n"), "(talk pid=7) the last words\n");
  node.client->close();
  const Clock::time_point patience = Clock::now() + 30s;
  while (threads_of_process() > before && Clock::now() < patience) std::this_thread::yield();  // the kernel is behind
  EXPECT_EQ(threads_of_process(), before);
}

}  // namespace
}  // namespace fray::client
