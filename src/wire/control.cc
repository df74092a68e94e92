#include "wire/control.h"

namespace fray::wire {

std::string frame(ControlType type, std::uint64_t id, std::uint8_t fds) {
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.fds = fds;
  header.id = id;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

}  // namespace fray::wire
