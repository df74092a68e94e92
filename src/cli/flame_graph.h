// FlameGraph: where a process spent its time, as a tree of calls, merged from the samples that `py-spy record` has taken.
//
//   FlameGraph graph = parse_samples(text);
//   graph.frames[0];   // {depth 0, start 0, samples 99, own 25, "main", "train.py", 3}
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    lines that are no samples are passed over. A graph has kMostFrames at most: those with the fewest samples are
//             left out, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fray::cli {

struct FlameFrame {
  std::uint32_t depth = 0;
  std::uint64_t start = 0;    // samples of the frames left of it, at its depth
  std::uint64_t samples = 0;  // in it and in what it called
  std::uint64_t own = 0;      // in it alone
  std::string function;
  std::string file;
  int line = 0;  // where the function begins; 0: not known
};

struct FlameGraph {
  static constexpr std::size_t kMostFrames = 3000;
  static constexpr std::size_t kMostDepth = 200;

  std::uint64_t samples = 0;
  std::uint64_t left_out = 0;      // frames
  std::vector<FlameFrame> frames;  // each before those that it called
};

// Of lines such as `main (train.py:3);step (train.py:12) 74`.
FlameGraph parse_samples(std::string_view text);
nlohmann::json flame_json(const FlameGraph& graph);
// The tree as text, a line for each frame, with its share.
std::string flame_text(const FlameGraph& graph);

}  // namespace fray::cli
