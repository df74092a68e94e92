// IgnoreRules: which files of a folder are left out, in the language of .gitignore.
//
//   *.log   /build   data/**/raw   !keep.log   cache/
//
// Rules of a folder apply to what lies below it; later rules win over earlier ones, deeper folders over higher ones. What
// lies in an ignored folder cannot be taken back in.
//
// Threading:  a value.
// Ownership:  owns its patterns.
// Failure:    none: a line that makes no sense matches nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fray::ray {

class IgnoreRules {
 public:
  // Lines of a file in `folder` (relative to the root, "" for the root itself).
  void add(std::string_view lines, const std::string& folder);
  // `path` is relative to the root, with slashes.
  bool ignores(const std::string& path, bool is_folder) const;

 private:
  struct Rule {
    std::string folder;  // with a slash at its end, or empty
    std::string pattern;
    bool anchored = false;
    bool folders_only = false;
    bool takes_back = false;
  };

  std::vector<Rule> rules_;
};

}  // namespace fray::ray
