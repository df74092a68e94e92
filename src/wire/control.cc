#include "wire/control.h"

namespace fray::wire {

std::string frame(ControlType type, std::uint64_t id) {
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.id = id;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

}  // namespace fray::wire
