// unpack_archive(): unpacks a zip, a tar or whatever else libarchive reads, packed in whatever way, and trusts nothing in it.
//
// Refused, with the name of the entry: absolute paths, `..`, names with a zero byte or a backslash, links that lead out of
// the folder (through other links, too), devices and pipes, more bytes or entries than the limits, and bytes out of proportion to the archive's own
// (a bomb). Files are opened below the folder without following links (openat2), so nothing is written through a link that
// an earlier entry made. Owners and special bits are not taken over.
//
// Names are bytes or, where the archive says so, UTF-8, and become file names as they are, whatever the locale.
//
// Threading:  any thread; blocks.
// Ownership:  fills a folder of the caller's, who removes it after a failure.
// Failure:    kRuntimeEnv with the reason; kNotFound: there is no such archive.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime_env/folder_listing.h"

namespace fray::runtime_env {

Status unpack_archive(const std::string& archive, const std::string& folder, const TreeLimits& limits);

}  // namespace fray::runtime_env
