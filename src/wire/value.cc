#include "wire/value.h"

namespace fray::wire {

namespace {

struct ValueHead {
  Encoding encoding = Encoding::kNone;
  ValueKind kind = ValueKind::kInline;
  std::uint16_t reserved = 0;
  std::uint32_t nested = 0;
  std::uint32_t size = 0;
};
static_assert(sizeof(ValueHead) == 12);

void encode_head(ByteWriter& out, Encoding encoding, ValueKind kind, std::size_t nested, std::size_t size) {
  out.put(ValueHead{encoding, kind, 0, static_cast<std::uint32_t>(nested), static_cast<std::uint32_t>(size)});
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
  if (value.nested_count > 0) out.put_raw(value.nested_bytes);
}

ValueView decode_value(ByteReader& in) {
  ValueView value;
  const auto head = in.get<ValueHead>();
  value.encoding = head.encoding;
  value.kind = head.kind;
  value.nested_count = head.nested;
  if (value.encoding > kLastEncoding || value.kind > ValueKind::kSealed) {
    in.fail();
    return {};
  }
  if (value.kind == ValueKind::kInline) {
    value.bytes = in.get_raw(head.size);
  } else {
    value.object = in.get<ObjectId>();
    value.location = in.get<Location>();
  }
  value.nested_bytes = in.get_raw(static_cast<std::size_t>(value.nested_count) * sizeof(ObjectId));
  if (!in.ok()) return {};
  return value;
}

}  // namespace fray::wire
