#include "cli/flame_graph.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fray::cli {

namespace {

// A call, with those that it made.
struct FlameCall {
  std::uint64_t samples = 0;
  std::uint64_t own = 0;
  std::map<std::string, std::unique_ptr<FlameCall>, std::less<>> calls;
};

// The number at the end of a line; 0: there is none.
std::uint64_t take_count(std::string_view* line) {
  const std::size_t space = line->rfind(' ');
  if (space == std::string_view::npos || line->starts_with("py-spy> ")) return 0;
  const std::string_view digits = line->substr(space + 1);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size()) return 0;
  line->remove_suffix(line->size() - space);
  return count;
}

void add_sample(FlameCall& root, std::string_view stack, std::uint64_t count) {
  FlameCall* call = &root;
  root.samples += count;
  for (std::size_t depth = 0; !stack.empty() && depth < FlameGraph::kMostDepth; ++depth) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    auto& next = call->calls.try_emplace(std::string(stack.substr(0, end))).first->second;
    if (!next) next = std::make_unique<FlameCall>();
    stack.remove_prefix(std::min(end + 1, stack.size()));
    call = next.get();
    call->samples += count;
  }
  call->own += count;
}

// "step (train.py:12)"; names of functions have parentheses of their own, such as "<lambda>" has none.
FlameFrame frame_of(std::string_view text) {
  FlameFrame frame;
  const std::size_t open = text.rfind(" (");
  frame.function = text.substr(0, open);
  if (open == std::string_view::npos || !text.ends_with(')')) return frame;
  std::string_view place = text.substr(open + 2, text.size() - open - 3);
  if (const std::size_t colon = place.rfind(':'); colon != std::string_view::npos) {
    const std::string_view digits = place.substr(colon + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), frame.line).ec == std::errc()) {
      place = place.substr(0, colon);
    }
  }
  frame.file = place;
  return frame;
}

void add_counts(const FlameCall& call, std::vector<std::uint64_t>* counts) {
  for (const auto& [name, next] : call.calls) {
    counts->push_back(next->samples);
    add_counts(*next, counts);
  }
}

// What a frame must have to be shown.
std::uint64_t fewest_samples(const FlameCall& root) {
  std::vector<std::uint64_t> counts;
  add_counts(root, &counts);
  if (counts.size() <= FlameGraph::kMostFrames) return 1;
  std::nth_element(counts.begin(), counts.begin() + FlameGraph::kMostFrames, counts.end(), std::greater<>());
  return counts[FlameGraph::kMostFrames] + 1;
}

void add_frames(const FlameCall& call, std::uint32_t depth, std::uint64_t start, std::uint64_t fewest,
                FlameGraph* graph) {
  std::vector<std::pair<std::string_view, const FlameCall*>> calls;
  for (const auto& [name, next] : call.calls) calls.emplace_back(name, next.get());
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.second->samples > b.second->samples; });
  for (const auto& [name, next] : calls) {
    if (next->samples < fewest) {
      std::vector<std::uint64_t> below;
      add_counts(*next, &below);
      graph->left_out += below.size() + 1;
      continue;
    }
    FlameFrame frame = frame_of(name);
    frame.depth = depth;
    frame.start = start;
    frame.samples = next->samples;
    frame.own = next->own;
    graph->frames.push_back(std::move(frame));
    add_frames(*next, depth + 1, start, fewest, graph);
    start += next->samples;
  }
}

}  // namespace

FlameGraph parse_samples(std::string_view text) {
  FlameCall root;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const std::uint64_t count = take_count(&line); count > 0) add_sample(root, line, count);
  }
  FlameGraph graph;
  graph.samples = root.samples;
  add_frames(root, 0, 0, fewest_samples(root), &graph);
  return graph;
}

nlohmann::json flame_json(const FlameGraph& graph) {
  nlohmann::json rows = nlohmann::json::array();
  for (const FlameFrame& frame : graph.frames) {
    rows.push_back({frame.depth, frame.start, frame.samples, frame.own, frame.function, frame.file,
                    frame.line == 0 ? nlohmann::json(nullptr) : nlohmann::json(frame.line)});
  }
  return {{"samples", graph.samples},
          {"left_out", graph.left_out},
          {"fields", {"depth", "start", "samples", "own", "function", "file", "line"}},
          {"frames", std::move(rows)}};
}

std::string flame_text(const FlameGraph& graph) {
  std::string text;
  for (const FlameFrame& frame : graph.frames) {
    const double share = 100.0 * static_cast<double>(frame.samples) / static_cast<double>(graph.samples);
    text +=
        fmt::format("{:5.1f} %  {:{}}{}  {}:{}\n", share, "", 2 * frame.depth, frame.function, frame.file, frame.line);
  }
  return text;
}

}  // namespace fray::cli
