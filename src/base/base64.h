// Base64: bytes as text.
//
//   encode_base64("hello")       "aGVsbG8="
//   decode_base64("aGVsbG8")     "hello"; of the alphabet for URLs or the other, with or without padding
//   bytes_of_base64("aGVsbG8=")  the same, of what encode_base64() gives alone
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    characters that belong to neither alphabet end what decode_base64() reads; bytes_of_base64() returns nothing
//             for a text with any, and for one whose padding is not right.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fray {

std::string encode_base64(std::string_view bytes);
std::string decode_base64(std::string_view text);
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace fray
