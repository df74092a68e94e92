#include "iris/protobuf.h"

namespace fray::iris {

namespace {

constexpr std::uint64_t kMostFieldNumber = (1u << 29) - 1;

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> take_fixed(std::string_view& bytes, std::size_t size) {
  if (bytes.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  bytes.remove_prefix(size);
  return value;
}

}  // namespace

std::optional<ProtobufField> take_field(std::string_view& bytes) {
  const auto tag = take_varint(bytes);
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kMostFieldNumber) return std::nullopt;
  ProtobufField field{static_cast<int>(*tag >> 3), static_cast<WireType>(*tag & 7)};
  std::optional<std::uint64_t> value;
  switch (field.type) {
    case WireType::kVarint:
      value = take_varint(bytes);
      break;
    case WireType::kFixed64:
      value = take_fixed(bytes, 8);
      break;
    case WireType::kFixed32:
      value = take_fixed(bytes, 4);
      break;
    case WireType::kBytes:
      value = take_varint(bytes);
      if (!value || *value > bytes.size()) return std::nullopt;
      field.bytes = bytes.substr(0, *value);
      bytes.remove_prefix(*value);
      break;
  }
  if (!value) return std::nullopt;
  field.value = *value;
  return field;
}

}  // namespace fray::iris
