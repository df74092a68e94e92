#include "runtime_env/text_lines.h"

#include <fmt/format.h>

#include "base/join.h"

namespace fray::runtime_env {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string last_lines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines = lines_of(text);
  const std::size_t first = lines.size() > count ? lines.size() - count : 0;
  return fmt::format("{}", fmt::join(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(), "\n"));
}

}  // namespace fray::runtime_env
