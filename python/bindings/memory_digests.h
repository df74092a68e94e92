// MemoryDigests: digests of large pieces of memory, each of which is computed anew only where somebody may have written.
//
// Memory whose digest is asked for a second time is watched from then on (os/memory/write_watch.h), until it has changed: a
// digest of 80 MB then takes 0.1 ms in place of 13. Where the kernel cannot do that, digests are computed each time.
//
// Threading:  with the GIL, which is given up while memory is hashed, if the caller allows it.
// Ownership:  knows addresses only: what becomes of the memory is nothing to it.
// Failure:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "digest.h"
#include "os/memory/write_watch.h"

namespace fray::python {

class MemoryDigests {
 public:
  // `may_yield`: whether other threads may run meanwhile.
  Digest of(const void* data, std::size_t bytes, bool may_yield);
  // Watches nothing any more, and closes the descriptor that it takes.
  void forget();

 private:
  struct Known {
    os::PageRange pages;
    Digest digest;
    std::uint64_t round = 0;  // in which it is, or was, computed
    bool is_watched = false;
  };

  Known* find(const os::PageRange& pages);
  Digest compute(const os::PageRange& pages, bool may_yield);
  void settle(const os::PageRange& pages, std::uint64_t round, const Digest& digest);
  void add(const Known& fresh);
  void end_watch(Known& known);

  os::WriteWatch watch_;
  std::vector<Known> known_;  // ranges that do not overlap; the one used last is at the end
  std::uint64_t rounds_ = 0;
};

// That of this process.
MemoryDigests& memory_digests();

}  // namespace fray::python
