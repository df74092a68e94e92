// WriteWatch: tells whether memory of this process has been written to. The kernel protects its pages, lets the first write
// to each of them through, and keeps in mind that there was one: no signal, no thread, and a microsecond for that first write.
//
//   WriteWatch watch;
//   const PageRange pages = PageRange::inside(data, bytes);
//   if (watch.begin(pages)) ...             // from now on
//   if (watch.is_untouched(pages)) ...      // 1 us for each MB
//
// It is userfaultfd with asynchronous write protection, and the ioctl PAGEMAP_SCAN, which Linux has from 6.7 on.
//
// Threading:  one thread at a time. Writes of all threads count, and those that the kernel makes for a read().
// Ownership:  owns a descriptor; with it everything ends. A child of fork() begins anew.
// Failure:    begin() and begin_again() return false where the kernel, or the rules of a container, do not allow it, and
//             begin() for memory that other processes or files may change, as far as it has been read. is_untouched()
//             returns false in doubt: for all such memory, for memory that was freed, or given back to the kernel, and
//             where a library is loaded by which devices write to memory (CUDA, ROCm, oneAPI, InfiniBand): they pass by
//             the page tables. Nor are writes seen of transfers that were under way before (O_DIRECT, buffers
//             registered with io_uring).
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "os/fd.h"

namespace fray::os {

// Whole pages, from one address to another.
struct PageRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  // The pages that these bytes fill.
  static PageRange inside(const void* data, std::size_t bytes);
  bool is_empty() const { return begin >= end; }
  std::size_t bytes() const { return end - begin; }
  bool overlaps(const PageRange& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const PageRange&) const = default;
};

class WriteWatch {
 public:
  // Pages of different ranges must not overlap.
  bool begin(const PageRange& pages);
  // What was written to these pages, which are watched, is forgotten.
  bool begin_again(const PageRange& pages);
  void end(const PageRange& pages);

  bool is_untouched(const PageRange& pages);

 private:
  bool open();
  bool devices_may_write();

  Fd fd_;
  pid_t owner_ = 0;  // the process that has opened it
  unsigned long long libraries_loaded_ = 0;
  bool devices_may_write_ = false;
};

}  // namespace fray::os
