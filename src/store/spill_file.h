// SpillFile: copies a segment into an unlinked file of a spill folder, for the node when memory is short.
//
// The file never has a name (or loses it at once), so nothing is left when the node dies. Readers get the read-only
// descriptor in place of the memfd's.
//
// Threading:  stateless; meant for the node's copying thread, which may block here for seconds.
// Ownership:  the caller owns what is returned; the source descriptor stays the caller's.
// Failure:    kResourceExhausted when the disk is full (found before a byte is copied) or a limit forbids the file;
//             kIoError for everything else. Both name the folder, the bytes needed and the bytes free. Nothing is left.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "os/fd.h"

namespace fray::store {

struct SpillFile {
  os::Fd descriptor;  // read-only
  std::uint64_t size = 0;
};

// Copies the first `size` bytes of `source`, which must have that many.
Result<SpillFile> spill_to_file(int source, std::uint64_t size, const std::string& folder);

}  // namespace fray::store
