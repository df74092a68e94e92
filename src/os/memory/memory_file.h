// MemoryFiles: the few system calls behind shared memory, as an interface so that tests can make each of them fail.
//
// Threading:  stateless; any thread.
// Ownership:  create() hands out the descriptor, map() the mapping; the caller closes and unmaps.
// Failure:    kResourceExhausted when the machine, a memory cgroup or a limit on descriptors or file size refuses, with
//             what was asked and errno's text; kIoError for everything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

// kPrivate: what is written to such a mapping stays there; where it was not written to, it shows the file.
enum class Access : std::uint8_t { kRead, kReadWrite, kPrivate };

// Size of a page, asked from the system once.
std::uint64_t page_bytes();
std::uint64_t round_up_to_page(std::uint64_t bytes);

class MemoryFiles {
 public:
  virtual ~MemoryFiles() = default;

  // A new memfd of `bytes` zero bytes, close-on-exec, seals allowed. No page is allocated yet.
  virtual Result<Fd> create(std::uint64_t bytes) = 0;
  // A mapping from the file's start.
  virtual Result<std::byte*> map(int descriptor, std::uint64_t bytes, Access access) = 0;
  // Allocates the pages of a writable mapping, so that no store into them can fail later. Page-aligned range.
  virtual Status populate(std::byte* data, std::uint64_t bytes) = 0;
  // Gives a writable mapping of the whole file another place, which is returned, and leaves at `data` a private one: it
  // shows the file's bytes, and what is written there stays there. At no time is `data` unmapped. `descriptor`: the
  // file's.
  virtual Result<std::byte*> make_private(std::byte* data, std::uint64_t bytes, int descriptor) = 0;
  // From now on no process can shorten, grow or newly map the file for writing, nor change these seals. Existing
  // writable mappings stay writable.
  virtual Status seal(int descriptor) = 0;
};

// The real system calls.
MemoryFiles& memory_files();

// Reads a read-only mapping of a file into memory, so that a failing disk is kIoError here and not SIGBUS at a later
// read.
Status populate_from_file(std::byte* data, std::uint64_t bytes);

// Bytes the file has pages for; less than its size while parts were never written.
Result<std::uint64_t> allocated_bytes(int descriptor);
// Whether `descriptor` is a memfd with at least the seals that seal() sets.
bool has_all_seals(int descriptor);

}  // namespace fray::os
