#include "runtime_env/ignore_file.h"

#include <algorithm>
#include <span>

#include <fnmatch.h>

#include "runtime_env/text_lines.h"

namespace fray::runtime_env {

namespace {

using Parts = std::span<const std::string>;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool part_matches(const std::string& pattern, const std::string& part) {
  return ::fnmatch(pattern.c_str(), part.c_str(), 0) == 0;
}

// Matches the parts of a path by the set of positions that a prefix of the pattern can reach, so no pattern needs
// backtracking.
bool parts_match(Parts pattern, Parts path) {
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::vector<bool> next(path.size() + 1, false);
    if (pattern[i] == "**") {
      // A "**" at the end stands for the content of a folder: at least one part. Elsewhere it also matches no part.
      const bool last = i + 1 == pattern.size();
      bool any = false;
      for (std::size_t at = 0; at <= path.size(); ++at) {
        if (last) next[at] = any;
        any = any || reached[at];
        if (!last) next[at] = any;
      }
    } else {
      for (std::size_t at = 0; at < path.size(); ++at) {
        if (reached[at] && part_matches(pattern[i], path[at])) next[at + 1] = true;
      }
    }
    reached = std::move(next);
  }
  return reached[path.size()];
}

// Removes spaces at the end, unless the last of them is quoted.
void strip_spaces(std::string& line) {
  while (line.ends_with(' ')) {
    std::size_t quotes = 0;
    while (quotes + 1 < line.size() && line[line.size() - 2 - quotes] == '\\') ++quotes;
    if (quotes % 2 == 1) return;
    line.pop_back();
  }
}

}  // namespace

IgnoreFile IgnoreFile::parse(std::string_view text) {
  IgnoreFile file;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const std::string& line : lines_of(text)) {
    if (auto pattern = parse_line(line)) file.patterns_.push_back(std::move(*pattern));
  }
  return file;
}

std::optional<IgnoreFile::Pattern> IgnoreFile::parse_line(std::string line) {
  if (line.starts_with("#")) return std::nullopt;
  strip_spaces(line);
  Pattern pattern;
  if (line.starts_with("!")) {
    pattern.negated = true;
    line.erase(0, 1);
  }
  if (line.ends_with("/")) {
    pattern.folders_only = true;
    line.pop_back();
  }
  pattern.anchored = line.find('/') != std::string::npos;
  if (line.starts_with("/")) line.erase(0, 1);
  if (line.empty()) return std::nullopt;
  pattern.parts = split(line);
  return pattern;
}

std::optional<bool> IgnoreFile::decide(std::string_view path, bool is_folder) const {
  const std::vector<std::string> parts = split(path);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->folders_only && !is_folder) continue;
    if (matches(*pattern, parts)) return !pattern->negated;
  }
  return std::nullopt;
}

bool IgnoreFile::matches(const Pattern& pattern, const std::vector<std::string>& path) {
  if (pattern.anchored) return parts_match(pattern.parts, path);
  return part_matches(pattern.parts.front(), path.back());
}

void IgnoreFile::append(const IgnoreFile& later) {
  patterns_.insert(patterns_.end(), later.patterns_.begin(), later.patterns_.end());
}

}  // namespace fray::runtime_env
