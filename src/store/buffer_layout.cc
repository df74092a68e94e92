#include "store/buffer_layout.h"

#include <cstring>
#include <limits>

#include "base/check.h"

namespace fray::store {
namespace {

constexpr std::uint64_t kFixedHeaderBytes = 16;

struct FixedHeader {
  std::uint32_t magic = kBufferLayoutMagic;
  std::uint32_t buffer_count = 0;
  std::uint64_t pickle_bytes = 0;
};
static_assert(sizeof(FixedHeader) == kFixedHeaderBytes);

// Appends `size` bytes at the next multiple of `alignment` behind `end`. False on overflow.
bool place(std::uint64_t& end, std::uint64_t size, std::uint64_t alignment, std::uint64_t& offset) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  if (end > kMost - (alignment - 1)) return false;
  offset = (end + alignment - 1) / alignment * alignment;
  if (size > kMost - offset) return false;
  if (size > 0) end = offset + size;
  return true;
}

Status broken(const char* what) { return Status(StatusCode::kCorruption, std::string("buffer layout: ") + what); }

}  // namespace

Result<BufferPlan> BufferPlan::measure(std::uint64_t pickle_bytes, std::span<const std::uint64_t> buffer_bytes) {
  if (buffer_bytes.size() > kMaxBuffers) {
    return Status(StatusCode::kInvalidArgument, "a value has " + std::to_string(buffer_bytes.size()) +
                                                    " out-of-band buffers; at most " + std::to_string(kMaxBuffers) +
                                                    " are allowed");
  }
  const Status overflow(StatusCode::kInvalidArgument, "the sizes of a value's buffers add up to more than 2^64 bytes");
  BufferPlan plan;
  plan.pickle_bytes_ = pickle_bytes;
  plan.header_bytes_ = kFixedHeaderBytes + 8 * buffer_bytes.size();
  plan.buffer_bytes_.assign(buffer_bytes.begin(), buffer_bytes.end());
  plan.buffer_offsets_.resize(buffer_bytes.size());
  std::uint64_t end = plan.header_bytes_;
  std::uint64_t pickle_offset = 0;
  if (!place(end, pickle_bytes, 1, pickle_offset)) return overflow;
  for (std::size_t i = 0; i < buffer_bytes.size(); ++i) {
    if (!place(end, buffer_bytes[i], kBufferAlignment, plan.buffer_offsets_[i])) return overflow;
  }
  plan.total_bytes_ = end;
  return plan;
}

void BufferPlan::write_header(std::span<std::byte> block) const {
  FRAY_CHECK(block.size() >= header_bytes_, "the block is smaller than its header");
  FixedHeader header;
  header.buffer_count = static_cast<std::uint32_t>(buffer_bytes_.size());
  header.pickle_bytes = pickle_bytes_;
  std::memcpy(block.data(), &header, sizeof(header));
  if (!buffer_bytes_.empty()) {
    std::memcpy(block.data() + kFixedHeaderBytes, buffer_bytes_.data(), 8 * buffer_bytes_.size());
  }
}

Result<BufferLayout> BufferLayout::parse(std::span<const std::byte> block) {
  // Everything is read once, into memory of this process: the writer may change the block while it is checked.
  FixedHeader header;
  if (block.size() < sizeof(header)) return broken("shorter than its header");
  std::memcpy(&header, block.data(), sizeof(header));
  if (header.magic != kBufferLayoutMagic) return broken("wrong magic number");
  if (header.buffer_count > kMaxBuffers) return broken("too many buffers");
  const std::uint64_t header_bytes = kFixedHeaderBytes + 8ull * header.buffer_count;
  if (header_bytes > block.size()) return broken("its table of buffers runs past its end");

  BufferLayout layout;
  layout.buffers.reserve(header.buffer_count);
  std::uint64_t end = header_bytes;
  std::uint64_t offset = 0;
  if (!place(end, header.pickle_bytes, 1, offset) || end > block.size()) return broken("its pickle runs past its end");
  layout.pickle = block.subspan(offset, header.pickle_bytes);
  for (std::uint32_t i = 0; i < header.buffer_count; ++i) {
    std::uint64_t size = 0;
    std::memcpy(&size, block.data() + kFixedHeaderBytes + 8ull * i, sizeof(size));
    if (!place(end, size, kBufferAlignment, offset) || end > block.size()) return broken("a buffer runs past its end");
    layout.buffers.push_back(size == 0 ? std::span<const std::byte>() : block.subspan(offset, size));
  }
  return layout;
}

}  // namespace fray::store
