// IgnoreRules: decides during a walk through a folder which of its files are left out. It holds the ignore files of the
// folders from the root down to the present one. A deeper one wins over those above it; of one folder, the one that was
// entered later.
//
//   rules.enter("", IgnoreFile::parse("*.log"));
//   rules.enter("src", IgnoreFile::parse("!keep.log"));
//   rules.ignores("src/keep.log", false)  -> false
//   rules.leave();
//
// Threading:  a value.
// Ownership:  owns the patterns of the folders that were entered and not left.
// Failure:    none.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime_env/ignore_file.h"

namespace fray::runtime_env {

class IgnoreRules {
 public:
  // `folder` is relative to the root, "" for the root itself.
  void enter(std::string_view folder, IgnoreFile file);
  void leave() { folders_.pop_back(); }

  // `path` is relative to the root and lies in the folder entered last.
  bool ignores(std::string_view path, bool is_folder) const;

 private:
  struct Folder {
    std::size_t prefix = 0;  // of paths below it
    IgnoreFile file;
  };

  std::vector<Folder> folders_;
};

}  // namespace fray::runtime_env
