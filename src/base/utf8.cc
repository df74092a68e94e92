#include "base/utf8.h"

#include <fmt/format.h>

namespace fray {

std::optional<std::uint32_t> take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first >= 0xF8 || text.size() < length) return std::nullopt;
  std::uint32_t point = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    point = (point << 6) | (byte & 0x3Fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  if (point < kSmallest[length] || surrogate || point > 0x10FFFF) return std::nullopt;
  text.remove_prefix(length);
  return point;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code_point(text)) return false;
  }
  return true;
}

std::string shown_utf8(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    std::string_view rest = text;
    if (take_code_point(rest)) {
      shown.append(text.substr(0, text.size() - rest.size()));
      text = rest;
    } else {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
  }
  return shown;
}

}  // namespace fray
