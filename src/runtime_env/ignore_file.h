// IgnoreFile: the patterns of one .gitignore or .frayignore, as git reads them.
//
//   auto rules = IgnoreFile::parse("*.log\n!keep.log\n/build/\ndata/**/raw\n");
//   rules.decide("a/b.log", false)   -> true: ignored
//   rules.decide("keep.log", false)  -> false: taken, even where an ignore file further up ignores it
//   rules.decide("b.txt", false)     -> nullopt: no pattern of this file matches
//
// Paths are relative to the folder of the ignore file. As with git, a pattern cannot take back a path inside an ignored
// folder, so callers do not ask about such paths.
//
// Threading:  a value.
// Ownership:  owns its patterns.
// Failure:    none: a pattern that cannot match anything matches nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fray::runtime_env {

class IgnoreFile {
 public:
  static IgnoreFile parse(std::string_view text);

  // True: ignored; false: taken back; nothing: no pattern says anything.
  std::optional<bool> decide(std::string_view path, bool is_folder) const;
  // The patterns of `later` come after these, so they win.
  void append(const IgnoreFile& later);

 private:
  struct Pattern {
    std::vector<std::string> parts;  // between slashes
    bool negated = false;
    bool folders_only = false;
    bool anchored = false;  // else it is matched with the last part of a path
  };

  static std::optional<Pattern> parse_line(std::string line);
  static bool matches(const Pattern& pattern, const std::vector<std::string>& path);

  std::vector<Pattern> patterns_;
};

}  // namespace fray::runtime_env
