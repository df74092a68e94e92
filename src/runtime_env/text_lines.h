// The last lines of output of programs that build environments, for messages.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fray::runtime_env {

std::vector<std::string> lines_of(std::string_view text);
// At most `count`, joined with line ends.
std::string last_lines(std::string_view text, std::size_t count);

}  // namespace fray::runtime_env
