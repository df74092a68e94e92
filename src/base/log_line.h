// log_line(): writes a line to this process's log, which is its standard error.
//
// Threading:  any; a line is one write.
// Ownership:  none.
// Failure:    none: a line that cannot be written (the disk is full) is lost, and the process goes on.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace fray {

template <typename... Args>
void log_line(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace fray
