#include "base/log_line.h"

#include <array>
#include <chrono>
#include <ctime>

namespace fray {

namespace {

constexpr std::array<std::string_view, 3> kLevels = {"info", "warning", "error"};
constexpr std::size_t kTimeSize = 27;  // 2026-11-22T18:20:01.123456Z

// The number that stands at `at`, of so many digits; -1: there is none.
int digits_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number;
}

std::optional<double> unix_seconds_of(std::string_view text) {
  constexpr std::string_view kForm = "....-..-..T..:..:.........Z";
  for (std::size_t i = 0; i < kTimeSize; ++i) {
    if (kForm[i] != '.' && kForm[i] != text[i]) return std::nullopt;
  }
  std::tm at{};
  at.tm_year = digits_at(text, 0, 4) - 1900;
  at.tm_mon = digits_at(text, 5, 2) - 1;
  at.tm_mday = digits_at(text, 8, 2);
  at.tm_hour = digits_at(text, 11, 2);
  at.tm_min = digits_at(text, 14, 2);
  at.tm_sec = digits_at(text, 17, 2);
  const int micros = digits_at(text, 20, 6);
  if (text[19] != '.' || at.tm_year < 0 || at.tm_mon < 0 || at.tm_mday < 0 || at.tm_hour < 0 || at.tm_min < 0 ||
      at.tm_sec < 0 || micros < 0) {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&at)) + micros / 1e6;
}

}  // namespace

std::string log_event_head(LogLevel level) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm at{};
  ::gmtime_r(&seconds, &at);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z {} ", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
                     at.tm_hour, at.tm_min, at.tm_sec, micros % 1'000'000, kLevels.at(static_cast<std::size_t>(level)));
}

LogEvent parse_log_event(std::string_view line) {
  LogEvent event{std::nullopt, {}, line};
  if (line.size() < kTimeSize + 2 || line[kTimeSize] != ' ') return event;
  const auto seconds = unix_seconds_of(line);
  if (!seconds) return event;
  const std::string_view rest = line.substr(kTimeSize + 1);
  for (std::string_view level : kLevels) {
    if (!rest.starts_with(level) || rest.size() <= level.size() || rest[level.size()] != ' ') continue;
    return {seconds, level, rest.substr(level.size() + 1)};
  }
  return event;
}

}  // namespace fray
