// bytes_text: amounts of memory as people read them: "512 B", "1.5 GiB".
//
// Threading:  pure.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>

namespace fray {

std::string bytes_text(double bytes);
inline std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace fray
