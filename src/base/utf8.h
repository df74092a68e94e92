// UTF-8: taking texts apart, and telling what is none.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    nothing for bytes that are no UTF-8: cut sequences, longer ones than needed, surrogates, what is beyond U+10FFFF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fray {

// Takes one code point off the front of a text that is not empty.
std::optional<std::uint32_t> take_code_point(std::string_view& text);

bool is_utf8(std::string_view text);

}  // namespace fray
