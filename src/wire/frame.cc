#include "wire/frame.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace fray::wire {

Status validate(const FrameHeader& header) {
  if (header.version != kVersion) {
    return Status(
        StatusCode::kCorruption,
        fmt::format("a frame of wire version {:#06x} arrived; this build speaks {:#06x}. Client and node must "
                    "come from the same Fray release",
                    header.version, kVersion));
  }
  if (header.length > kMaxBodyBytes) {
    return Status(StatusCode::kCorruption,
                  fmt::format("a frame of {} bytes arrived; the limit is {}", header.length, kMaxBodyBytes));
  }
  if (header.fds > kMaxFdsPerFrame) {
    return Status(StatusCode::kCorruption,
                  fmt::format("a frame with {} descriptors arrived; the limit is {}", header.fds, kMaxFdsPerFrame));
  }
  return Status::ok();
}

bool set_length(std::string& out, std::size_t begin) {
  const std::size_t bytes = out.size() - begin - sizeof(FrameHeader);
  if (bytes > kMaxBodyBytes) {
    out.resize(begin);
    return false;
  }
  const auto length = static_cast<std::uint32_t>(bytes);
  std::memcpy(out.data() + begin + offsetof(FrameHeader, length), &length, sizeof(length));
  return true;
}

// Below the reader's limit by 1 MiB, for the fields beside the value in the same message.
std::uint64_t most_body_bytes(std::uint64_t store_limit_bytes) {
  constexpr std::uint64_t kAround = 1u << 20;
  return std::clamp<std::uint64_t>(store_limit_bytes, kUsualBodyBytes, kMaxBodyBytes - kAround);
}

}  // namespace fray::wire
