// Whole files: read at once, or written so that other processes see the old content or the new one.
//
// Threading:  any thread; one writer a path. Ownership:  none. Failure:    kIoError with the path; a file that could
// not be written is as it was before. read_file() returns kNotFound
//             for a file that is not there, kCorruption for one of more than `most` bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::os {

enum class Durability { kNone, kSynced };

// Writes through `path`.new, with mode 0600. kSynced: the file's bytes are on the disk, and its folder's entry after
// sync_folder().
Status write_file(const std::string& path, std::string_view bytes, Durability durability);
Result<std::string> read_file(const std::string& path, std::size_t most = std::size_t{1} << 30);
Status sync_folder(const std::string& path);

}  // namespace fray::os
