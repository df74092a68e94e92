// decode_base64(): the bytes behind a text in base64, of the alphabet for URLs or the other, with or without padding.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    characters that belong to neither alphabet end it.
#pragma once

#include <string>
#include <string_view>

namespace fray::iris {

std::string decode_base64(std::string_view text);

}  // namespace fray::iris
