// BufferLayout: a pickle and its out-of-band buffers in one block of memory (Encoding::kPickleBuffers).
//
//   header   magic(4) buffer_count(4) pickle_bytes(8)  buffer_bytes(8) x buffer_count
//   pickle   directly behind the header
//   buffers  each at the next multiple of 64 bytes; an empty one takes no room
//
// Integers are little-endian. Padding is zero or left as it was; nobody reads it. The block itself is aligned to 64.
//
//   BufferPlan plan = BufferPlan::measure(pickle.size(), sizes).value();
//   plan.write_header(memory);                        // memory has plan.total_bytes()
//   copy pickle to plan.pickle_offset(), buffer i to plan.buffer_offset(i)
//
// Threading:  values.
// Ownership:  BufferLayout looks into bytes that must outlive it.
// Failure:    parse() checks every length before use and returns kCorruption: the writer may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace fray::store {

inline constexpr std::uint32_t kBufferLayoutMagic = 0x46425546;  // "FUBF" as bytes
inline constexpr std::uint64_t kBufferAlignment = 64;
inline constexpr std::size_t kMaxBuffers = 1u << 20;

class BufferPlan {
 public:
  // kInvalidArgument when there are more than kMaxBuffers or the sum of all sizes overflows.
  static Result<BufferPlan> measure(std::uint64_t pickle_bytes, std::span<const std::uint64_t> buffer_bytes);

  std::uint64_t total_bytes() const { return total_bytes_; }
  std::uint64_t header_bytes() const { return header_bytes_; }
  std::uint64_t pickle_offset() const { return header_bytes_; }
  std::uint64_t buffer_offset(std::size_t index) const { return buffer_offsets_[index]; }
  std::size_t buffer_count() const { return buffer_offsets_.size(); }

  // Writes header_bytes() bytes to the front of `block`.
  void write_header(std::span<std::byte> block) const;

 private:
  std::uint64_t pickle_bytes_ = 0;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::vector<std::uint64_t> buffer_bytes_;
  std::vector<std::uint64_t> buffer_offsets_;
};

struct BufferLayout {
  std::span<const std::byte> pickle;
  std::vector<std::span<const std::byte>> buffers;

  static Result<BufferLayout> parse(std::span<const std::byte> block);
};

}  // namespace fray::store
