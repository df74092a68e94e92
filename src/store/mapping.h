// Mapping: one segment or spill file in this process's address space. View: bytes inside it, and what keeps them there.
//
//   Result<View> view = segments.view(location);   // view.bytes stay readable as long as view.pin lives
//
// Threading:  immutable; pins may be copied and dropped on any thread.
// Ownership:  unmaps itself when the last pin is gone, whatever became of the object, its writer, the node or the
//             client.
// Failure:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <sys/types.h>

#include "os/memory_file.h"

namespace fray::store {

class Mapping {
 public:
  // Takes over a mapping made by mmap. A writable one is not inherited by fork, so a child must not unmap it: something
  // else may lie there.
  Mapping(std::byte* data, std::uint64_t size, os::Access access);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }
  // The writer's only: a mapping adopted from another process is read-only memory.
  std::byte* writable_data() const { return data_; }
  std::uint64_t size() const { return size_; }

 private:
  std::byte* const data_;
  const std::uint64_t size_;
  const pid_t owner_;  // the only process that has it; 0: forked children have it too
};

using Pin = std::shared_ptr<const Mapping>;

struct View {
  std::span<const std::byte> bytes;
  Pin pin;
};

// Whether [offset, offset + size) lies inside `total` bytes; safe against overflow.
constexpr bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

}  // namespace fray::store
