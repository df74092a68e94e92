#include "wire/resources.h"

#include <type_traits>

namespace fray::wire {

void encode(ByteWriter& out, const ResourceSet& resources) {
  out.put(static_cast<std::uint32_t>(resources.units().size()));
  for (const auto& [name, units] : resources.units()) {
    out.put_string(name);
    out.put(units);
  }
}

ResourceSet decode_resource_set(ByteReader& in) {
  ResourceSet resources;
  std::uint32_t count = in.get_count(sizeof(std::uint32_t) + sizeof(std::int64_t));
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    std::string_view name = in.get_string();
    auto units = in.get<std::int64_t>();
    if (!in.ok()) break;
    if (name.empty() || units < 0) {
      in.fail();
      break;
    }
    resources.set_units(name, units);
  }
  return resources;
}

void encode(ByteWriter& out, const WorkShape& shape) {
  WorkShape::visit(shape, [&out](const char*, const auto& field) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(field)>>) {
      out.put(field);
    } else {
      encode(out, field);
    }
  });
}

WorkShape decode_work_shape(ByteReader& in) {
  WorkShape shape;
  WorkShape::visit(shape, [&in](const char*, auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_integral_v<Field>) {
      field = in.get<Field>();
    } else {
      field = decode_resource_set(in);
    }
  });
  return shape;
}

}  // namespace fray::wire
