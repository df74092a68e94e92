#include "cli/process_stacks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::cli {
namespace {

constexpr const char* kDump = R"(Thread 0x00007f01 (most recent call first):
  File "/a b/c.py", line 12 in wait
  File "/a b/c.py", line 7 in <module>

Thread 0x00007f02 [reader] (most recent call first):
  <no Python frame>

Current thread 0x00007f03 (most recent call first):
  File "/x", line 1 in f", line 2 in g
  File "broken
  ...
)";

TEST(ProcessStacks, ReadsWhatFaulthandlerWritesWithTheMainThreadFirst) {
  std::vector<ThreadStack> threads = parse_faulthandler(kDump);
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0].name, "main");
  ASSERT_EQ(threads[0].frames.size(), 1u);
  EXPECT_EQ(threads[0].frames[0].line, 2);
  EXPECT_EQ(threads[0].frames[0].function, "g");
  ASSERT_EQ(threads[1].frames.size(), 2u);
  EXPECT_EQ(threads[1].frames[0].file, "/a b/c.py");
  EXPECT_EQ(threads[1].frames[0].function, "wait");
  EXPECT_EQ(threads[1].frames[1].line, 7);
  EXPECT_EQ(threads[2].name, "0x00007f02 [reader]");
  EXPECT_TRUE(threads[2].frames.empty());
}

TEST(ProcessStacks, ReadsWhatPySpyPrints) {
  std::vector<ThreadStack> threads = parse_py_spy(
      R"([{"pid": 1, "thread_name": "MainThread", "owns_gil": true,
           "frames": [{"name": "f", "filename": "/x.py", "line": 3, "locals": null}]},
          {"pid": 1, "thread_name": null, "frames": []}])");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_TRUE(threads[0].holds_interpreter);
  EXPECT_EQ(threads[0].frames[0].file, "/x.py");
  EXPECT_EQ(threads[1].name, "?");
}

TEST(ProcessStacks, NonsenseIsNoStack) {
  EXPECT_TRUE(parse_py_spy("{").empty());
  EXPECT_TRUE(parse_py_spy("{}").empty());
  EXPECT_TRUE(parse_faulthandler("File \"x\", line 1 in y\n\n").empty());
}

TEST(ProcessStacks, TextSaysTheTaskAndWhyThereAreNoStacks) {
  ProcessStacks worker{7, "worker", "running", "count", 1.5, "py-spy", "", {{"MainThread", true, {{"f", "x.py", 3}}}}};
  ProcessStacks driver{8, "driver", "", "", 0, "", "it is stopped", {}};
  std::string text = stacks_text({worker, driver});
  for (const char* part : {"worker 7  running  count  1.5 s", "MainThread  (has the GIL)", "x.py:3", "it is stopped"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_EQ(stacks_json({worker})["processes"][0]["threads"][0]["frames"][0]["line"], 3);
}

}  // namespace
}  // namespace fray::cli
