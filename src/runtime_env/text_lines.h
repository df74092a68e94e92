// The last lines of output of programs that build environments, without the passwords in addresses, for messages.
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
// "https://user:secret@host/x" becomes "https://****@host/x".
std::string without_passwords(std::string_view text);

}  // namespace fray::runtime_env
