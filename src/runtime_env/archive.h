// unpack_archive(): unpacks a zip, a tar or any other archive that libarchive reads, and trusts nothing in it.
//
// It refuses, with the name of the entry: absolute paths, `..`, names with a zero byte or a backslash, links that lead
// out of the folder (through other links, too), devices and pipes, more bytes or entries than the limits allow, and
// contents out of proportion to the size of the archive (a bomb). Files are opened below the folder without following
// links (openat2), so that nothing is written through a link that an earlier entry made. Owners and special bits are
// not taken over.
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
