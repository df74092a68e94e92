#include "runtime_env/text_lines.h"

#include <algorithm>
#include <cctype>

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

std::string without_passwords(std::string_view text) {
  constexpr std::string_view kMark = "://";
  auto ends_address = [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '"' || c == '\'' || c == '`';
  };
  std::string out;
  while (true) {
    const std::size_t mark = text.find(kMark);
    if (mark == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, mark + kMark.size()));
    text.remove_prefix(mark + kMark.size());
    const auto end = std::find_if(text.begin(), text.end(), ends_address);
    const std::string_view authority(text.data(), static_cast<std::size_t>(end - text.begin()));
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) continue;
    out.append("****");
    text.remove_prefix(at);
  }
}

}  // namespace fray::runtime_env
