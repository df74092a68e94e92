#include "cli/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::cli {
namespace {

TEST(FlameGraph, merges_what_was_called_from_the_same_place_the_most_first) {
  const FlameGraph graph = parse_samples(
      "py-spy> Sampling process 100 times a second for 1 seconds\n"
      "main (a b.py:1);idle (a b.py:9) 20\n"
      "main (a b.py:1);step (a b.py:3) 25\n"
      "main (a b.py:1);step (a b.py:3);<lambda> (x:y.py:4) 50\n"
      "main (a b.py:1) 5\n\nnothing\nno number x\n");
  EXPECT_EQ(graph.samples, 100u);
  ASSERT_EQ(graph.frames.size(), 4u);
  EXPECT_EQ(graph.frames[0].function, "main");
  EXPECT_EQ(graph.frames[0].file, "a b.py");
  EXPECT_EQ(graph.frames[0].own, 5u);
  EXPECT_EQ(graph.frames[1].function, "step");
  EXPECT_EQ(graph.frames[1].samples, 75u);
  EXPECT_EQ(graph.frames[1].own, 25u);
  EXPECT_EQ(graph.frames[2].function, "<lambda>");
  EXPECT_EQ(graph.frames[2].depth, 2u);
  EXPECT_EQ(graph.frames[2].file, "x:y.py");
  EXPECT_EQ(graph.frames[2].line, 4);
  EXPECT_EQ(graph.frames[3].function, "idle");
  EXPECT_EQ(graph.frames[3].start, 75u) << "it is drawn right of what was called more";
  EXPECT_EQ(flame_json(graph)["frames"][3], (nlohmann::json{1, 75, 20, 20, "idle", "a b.py", 9}));
}

TEST(FlameGraph, has_an_end_however_deep_and_wide_its_calls_are) {
  std::string deep = "f (a.py:1)";
  for (int i = 0; i < 5000; ++i) deep += ";f (a.py:1)";
  std::string text = deep + " 10000\n";
  for (int i = 0; i < 20000; ++i) text += "main (a.py:1);g" + std::to_string(i) + " (a.py:2) 1\n";
  for (int i = 0; i < 10; ++i) text += "main (a.py:1);often" + std::to_string(i) + " (a.py:2) 7\n";
  const FlameGraph graph = parse_samples(text);
  EXPECT_LE(graph.frames.size(), FlameGraph::kMostFrames);
  EXPECT_EQ(graph.samples, 10000u + 20000 + 70);
  EXPECT_EQ(graph.left_out, 20000u);
  EXPECT_EQ(graph.frames.size(), FlameGraph::kMostDepth + 1 + 10);
}

TEST(FlameGraph, of_nothing_is_empty) {
  EXPECT_EQ(parse_samples("").samples, 0u);
  EXPECT_TRUE(parse_samples("py-spy> Wrote raw flamegraph data. Samples: 0 Errors: 0\n").frames.empty());
  const FlameGraph odd = parse_samples("f 3\n(x) 2\n (:) 1\n");
  EXPECT_EQ(odd.samples, 6u);
  EXPECT_EQ(odd.frames.size(), 3u);
}

}  // namespace
}  // namespace fray::cli
