// log_line(): writes a line to this process's log, which is its standard error. log_event(): one that says when it happened
// and how grave it is, as "2026-11-22T18:20:01.123456Z warning fray node: …".
//
// Threading:  any; a line is one write.
// Ownership:  none.
// Failure:    none: a line that cannot be written (the disk is full) is lost, and the process goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace fray {

template <typename... Args>
void log_line(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };

// The beginning of such a line, with the blank behind it.
std::string log_event_head(LogLevel level);

template <typename... Args>
void log_event(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  log_line("{}{}\n", log_event_head(level), fmt::format(format, std::forward<Args>(args)...));
}

// What a line says of itself; one that was written otherwise has its text alone.
struct LogEvent {
  std::optional<double> unix_seconds;
  std::string_view level;  // "info", "warning" or "error"; empty: none
  std::string_view text;
};
LogEvent parse_log_event(std::string_view line);

}  // namespace fray
