// Mapping: one segment or spill file in this process's address space. View: bytes inside it, and a pin that keeps it
// mapped.
//
//   Result<View> view = segments.view(location);   // view.bytes stay readable as long as view.pin lives
//
// A child of fork() has the mappings of its parent. Only the parent may write to writable ones: in the child they
// become read-only if they are viewed, and are unmapped otherwise, so that the child does not keep their memory in use.
//
// Threading:  pins may be copied and dropped on any thread; become_private() while nobody else has a pin.
// Ownership:  unmaps itself when the last pin is gone, whatever became of the object, its writer, the node or the
//             client.
// Failure:    none, but for copy_of(): kResourceExhausted when there is no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "os/memory/memory_file.h"

namespace fray::store {

class Mapping;
using Pin = std::shared_ptr<const Mapping>;

class Mapping : public std::enable_shared_from_this<Mapping> {
 public:
  // Takes over a mapping made by mmap.
  Mapping(std::byte* data, std::uint64_t size, os::Access access);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }
  // The writer's, and of private ones; any other mapping adopted from another process is read-only memory.
  std::byte* writable_data() const { return data_; }
  std::uint64_t size() const { return size_; }

  // It was made private (see MemoryFiles), and shows the bytes of `shared`, which must stay as they are as long.
  void become_private(Pin shared);

 private:
  friend class WritableMappings;

  std::byte* const data_;
  const std::uint64_t size_;
  Pin shared_;             // what a private one shows
  bool writable_ = false;  // and shared: in the list of those
  bool mapped_ = true;     // false in a child of fork() that has it no longer
  Mapping* before_ = nullptr;
  Mapping* after_ = nullptr;
};

struct View {
  std::span<const std::byte> bytes;
  Pin pin;
};

// A view of a copy of these bytes, to which the caller may write.
Result<View> copy_of(std::span<const std::byte> bytes);

// Whether [offset, offset + size) lies inside `total` bytes; safe against overflow.
constexpr bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

}  // namespace fray::store
