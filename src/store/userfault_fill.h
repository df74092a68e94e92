// UserfaultFill: allocates and fills pages of a shared mapping in one step, without zeroing them first (UFFDIO_COPY).
//
// Unlike pwrite it takes no lock on the file, so several threads fill one file at once; and the pages are mapped after.
//
// Threading:  fill() may run on several threads for ranges that do not share a page. While it exists, no other thread
//             may access missing pages of the range: it would wait until the object is destroyed.
// Ownership:  owns the userfaultfd; the mapping must outlive it.
// Failure:    open() gives nothing where the system does not allow it (old kernels, seccomp): use another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "os/fd.h"

namespace fray::store {

class UserfaultFill {
 public:
  // The range must be page-aligned and lie in one shared, writable mapping of a memfd.
  static std::optional<UserfaultFill> open(std::byte* data, std::uint64_t bytes);

  // Both `to` and `bytes` must be multiples of the page size. Pages that exist already are overwritten.
  Status fill(std::byte* to, const std::byte* from, std::uint64_t bytes);

 private:
  explicit UserfaultFill(os::Fd descriptor) : descriptor_(std::move(descriptor)) {}

  os::Fd descriptor_;
};

}  // namespace fray::store
