// Bundle: a folder as Iris's workers unpack it before they start a task: a ZIP archive, known by the SHA-256 of its bytes, so
// that what a controller has is not sent again.
//
// Left out is what runtime_env/folder_listing.h leaves out: what .gitignore and .frayignore say, version control, caches and
// virtual environments. A link to a file becomes that file; other links are left out.
//
// Threading:  any thread; reads the disk.
// Ownership:  owns the archive.
// Failure:    kInvalidArgument: no such folder; kResourceExhausted: more than kMostBundleBytes, with the largest files and what
//             to do; kIoError names the file.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fray::iris {

inline constexpr std::uint64_t kMostBundleBytes = std::uint64_t{25} << 20;  // what a controller takes

struct Bundle {
  std::string id;  // 64 hexadecimal digits
  std::string bytes;
};

Result<Bundle> make_bundle(const std::string& folder);

}  // namespace fray::iris
