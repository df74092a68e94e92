#include "ray/ignore_rules.h"

#include <algorithm>

namespace fray::ray {

namespace {

// Past a set such as [a-z]; nothing when it is not closed.
std::size_t set_end(std::string_view pattern, std::size_t begin) {
  std::size_t end = begin + 1;
  if (end < pattern.size() && (pattern[end] == '!' || pattern[end] == '^')) ++end;
  if (end < pattern.size() && pattern[end] == ']') ++end;
  while (end < pattern.size() && pattern[end] != ']') ++end;
  return end < pattern.size() ? end + 1 : std::string_view::npos;
}

bool set_has(std::string_view set, char c) {
  set = set.substr(1, set.size() - 2);
  const bool negated = !set.empty() && (set.front() == '!' || set.front() == '^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != negated;
}

// Which lengths of `pattern`'s beginning match which lengths of `path`'s: a table of one row a pattern character, so a
// hostile pattern costs its length times the path's, not more.
class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view path) : pattern_(pattern), path_(path) {}

  bool run() {
    std::vector<char> row(path_.size() + 1, 0);
    row[0] = 1;
    for (std::size_t at = 0; at < pattern_.size();) row = step(row, &at);
    return row[path_.size()] != 0;
  }

 private:
  std::vector<char> step(const std::vector<char>& row, std::size_t* at) {
    const bool at_start = *at == 0 || pattern_[*at - 1] == '/';
    const std::string_view rest = pattern_.substr(*at);
    if (at_start && rest.starts_with("**/")) return *at += 3, folders(row);
    if (rest.starts_with("**")) return *at += 2, stars(row, true);
    if (rest.front() == '*') return *at += 1, stars(row, false);
    std::size_t length = 1;
    std::string_view set;
    if (rest.front() == '[') {
      const std::size_t end = set_end(rest, 0);
      if (end != std::string_view::npos) set = rest.substr(0, length = end);
    }
    char wanted = rest.front();
    const bool any = wanted == '?';
    if (wanted == '\\' && rest.size() > 1) wanted = rest[1], length = 2;
    *at += length;
    std::vector<char> next(row.size(), 0);
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const char c = path_[i];
      const bool fits = any ? c != '/' : !set.empty() ? c != '/' && set_has(set, c) : c == wanted;
      if (row[i] != 0 && fits) next[i + 1] = 1;
    }
    return next;
  }

  std::vector<char> stars(std::vector<char> row, bool across) const {
    for (std::size_t i = 0; i < path_.size(); ++i) {
      if (row[i] != 0 && (across || path_[i] != '/')) row[i + 1] = 1;
    }
    return row;
  }

  // No folder, or any number of whole ones.
  std::vector<char> folders(std::vector<char> row) const {
    bool open = false;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool here = row[i] != 0;
      if (open && i > 0 && path_[i - 1] == '/') row[i] = 1;
      open = open || here;
    }
    return row;
  }

  std::string_view pattern_;
  std::string_view path_;
};

}  // namespace

void IgnoreRules::add(std::string_view lines, const std::string& folder) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    while (!line.empty() && line.back() == ' ' && (line.size() < 2 || line[line.size() - 2] != '\\')) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.front() == '#') continue;
    Rule rule;
    rule.folder = folder.empty() ? "" : folder + "/";
    rule.takes_back = line.front() == '!';
    if (rule.takes_back) line.remove_prefix(1);
    rule.folders_only = !line.empty() && line.back() == '/';
    if (rule.folders_only) line.remove_suffix(1);
    rule.anchored = line.find('/') != std::string_view::npos;
    if (!line.empty() && line.front() == '/') line.remove_prefix(1);
    if (line.empty()) continue;
    rule.pattern = line;
    rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::ignores(const std::string& path, bool is_folder) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders_only && !is_folder) continue;
    if (!path.starts_with(rule->folder)) continue;
    std::string_view below = std::string_view(path).substr(rule->folder.size());
    if (!rule->anchored) below.remove_prefix(below.rfind('/') + 1);
    if (Matcher(rule->pattern, below).run()) return !rule->takes_back;
  }
  return false;
}

}  // namespace fray::ray
