// Bundle: a folder as a ZIP archive, which Iris's workers unpack before they start a task. A bundle is identified by
// the SHA-256 of its bytes, so that a bundle that the controller has already is not sent again.
//
// The archive leaves out what runtime_env/folder_listing.h leaves out: what .gitignore and .frayignore name, folders of
// version control, caches and virtual environments. A link to a file becomes that file; other links are left out.
//
// Threading:  any thread; reads the disk.
// Ownership:  owns the archive.
// Failure:    kInvalidArgument when there is no such folder; kResourceExhausted for more than kMostBundleBytes, with
//             the largest files and what to do; kIoError with the file that could not be read.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fray::iris {

inline constexpr std::uint64_t kMostBundleBytes = std::uint64_t{25} << 20;  // the most that a controller accepts

struct Bundle {
  std::string id;  // 64 hexadecimal digits
  std::string bytes;
};

Result<Bundle> make_bundle(const std::string& folder);

}  // namespace fray::iris
