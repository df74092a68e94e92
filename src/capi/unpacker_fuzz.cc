// Feeds arbitrary bytes to Unpacker, as items and as a whole value, and packs again what it could read.
#include <cstdint>
#include <string>
#include <string_view>

#include "fray/value.h"

namespace {

// Every item on its own, as the Python extension reads them.
void read_items(std::string_view bytes) {
  fray::Unpacker unpacker(bytes);
  while (unpacker.next().kind != fray::Kind::kBroken) {
  }
}

void read_value(std::string_view bytes) {
  fray_view view{};
  view.encoding = FRAY_PORTABLE;
  view.data = bytes.data();
  view.size = bytes.size();
  fray::Decoder in(nullptr, view);
  fray::Value value;
  if (!in.read(value)) return;
  fray::Encoder out;
  out.value(value);
  if (out.view().size == 0) __builtin_trap();  // a value that was read can be written
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_items(bytes);
  read_value(bytes);
  return 0;
}
