#include "wire/frame.h"

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

}  // namespace fray::wire
