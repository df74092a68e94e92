// Amounts of memory and of resources as people read them.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fray {

std::string bytes_text(double bytes);  // "23.5 GiB", "512 B"
inline std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
// Of `memory` it is bytes; of anything else a plain number: "1.5", "1000000".
std::string amount_text(std::string_view resource, double amount);
// The same beside another amount of it: where both would read alike and are not, memory is given to the byte.
std::string amount_text(std::string_view resource, double amount, double beside);

}  // namespace fray
