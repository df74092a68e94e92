#include "wire/resources.h"

namespace fray::wire {

void encode(ByteWriter& out, const ResourceSet& resources) { encode_items(out, resources.units()); }

void decode(ByteReader& in, ResourceSet& resources) {
  for (std::uint32_t left = in.get_count(1); left > 0; --left) {
    std::string_view name = in.get_string();
    auto units = in.get<std::int64_t>();
    if (name.empty() || units < 0) in.fail();
    if (!in.ok()) return;
    resources.set_units(name, units);
  }
}

}  // namespace fray::wire
