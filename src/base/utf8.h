// UTF-8: decodes texts character by character, and recognises bytes that are no UTF-8.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    nullopt for bytes that are no UTF-8: cut or overlong sequences, surrogates, and numbers beyond U+10FFFF.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fray {

// Takes one code point off the front of a text that is not empty.
std::optional<std::uint32_t> take_code_point(std::string_view& text);

bool is_utf8(std::string_view text);
// The text with "\\xFF" in place of each byte that is no part of a character, to be shown to people.
std::string shown_utf8(std::string_view text);

}  // namespace fray
