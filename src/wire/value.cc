#include "wire/value.h"

namespace fray::wire {

namespace {

void encode_head(ByteWriter& out, Encoding encoding, ValueKind kind, std::size_t nested, std::size_t size) {
  out.put(encoding);
  out.put(kind);
  out.put(std::uint16_t{0});
  out.put(static_cast<std::uint32_t>(nested));
  out.put(static_cast<std::uint32_t>(size));
}

}  // namespace

ObjectId ValueView::nested(std::uint32_t index) const {
  ObjectId id;
  std::memcpy(&id, nested_bytes.data() + index * sizeof(ObjectId), sizeof(ObjectId));
  return id;
}

Value ValueView::to_value() const {
  Value value;
  value.encoding = encoding;
  value.kind = kind;
  value.bytes = std::string(bytes);
  value.object = object;
  value.location = location;
  value.nested.reserve(nested_count);
  for (std::uint32_t i = 0; i < nested_count; ++i) value.nested.push_back(nested(i));
  return value;
}

void encode(ByteWriter& out, const Value& value) {
  encode_head(out, value.encoding, value.kind, value.nested.size(), value.bytes.size());
  if (value.kind == ValueKind::kInline) {
    out.put_raw(value.bytes);
  } else {
    out.put(value.object);
    out.put(value.location);
  }
  for (const ObjectId& id : value.nested) out.put(id);
}

void encode(ByteWriter& out, const ValueView& value) {
  encode_head(out, value.encoding, value.kind, value.nested_count, value.bytes.size());
  if (value.kind == ValueKind::kInline) {
    out.put_raw(value.bytes);
  } else {
    out.put(value.object);
    out.put(value.location);
  }
  out.put_raw(value.nested_bytes);
}

ValueView decode_value(ByteReader& in) {
  ValueView value;
  value.encoding = in.get<Encoding>();
  value.kind = in.get<ValueKind>();
  in.get<std::uint16_t>();
  value.nested_count = in.get<std::uint32_t>();
  auto size = in.get<std::uint32_t>();
  if (value.encoding > kLastEncoding || value.kind > ValueKind::kSealed) {
    in.fail();
    return {};
  }
  if (value.kind == ValueKind::kInline) {
    value.bytes = in.get_raw(size);
  } else {
    value.object = in.get<ObjectId>();
    value.location = in.get<Location>();
  }
  value.nested_bytes = in.get_raw(static_cast<std::size_t>(value.nested_count) * sizeof(ObjectId));
  if (!in.ok()) return {};
  return value;
}

}  // namespace fray::wire
