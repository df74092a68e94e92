// list_folder(): lists the files of a folder that belong into a snapshot of it.
//
// Left out: what .gitignore and .frayignore files say (those in a folder hold for what is below it; .frayignore wins),
// .git and other version control, __pycache__, virtual environments, and anything that is not a file, folder or link.
// Links are kept as they are; a relative one that leads out of the folder becomes absolute, because the snapshot lies
// elsewhere.
//
// Threading:  any thread; reads the disk.
// Ownership:  values.
// Failure:    kNotFound: no such folder; kRuntimeEnv: more files or bytes than the limits allow, with what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::runtime_env {

struct TreeLimits {
  std::uint64_t bytes = 10ull << 30;
  std::uint64_t entries = 200'000;
  std::uint64_t ratio = 200;  // unpacked to packed, of archives
};

struct TreeItem {
  enum class Kind : char { kFile = 'f', kFolder = 'd', kLink = 'l' };
  std::string path;  // relative
  Kind kind = Kind::kFile;
  bool executable = false;
  std::uint64_t bytes = 0;
  std::string target;  // of a link
};

// Folders come before what lies in them; otherwise in the order of their names.
Result<std::vector<TreeItem>> list_folder(const std::string& folder, const TreeLimits& limits);

}  // namespace fray::runtime_env
