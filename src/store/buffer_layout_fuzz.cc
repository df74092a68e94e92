// Feeds arbitrary bytes to BufferLayout::parse and reads whatever it accepts.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "store/buffer_layout.h"

namespace {

std::uint64_t touch(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<std::uint64_t>(byte);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> block = std::as_bytes(std::span(data, size));
  const auto layout = fray::store::BufferLayout::parse(block);
  if (!layout.is_ok()) return 0;
  volatile std::uint64_t sum = touch(layout.value().pickle);
  std::size_t total = layout.value().pickle.size();
  for (const auto& buffer : layout.value().buffers) {
    sum = sum + touch(buffer);
    total += buffer.size();
  }
  FRAY_CHECK(total <= size, "an accepted layout is larger than its block");
  return 0;
}
