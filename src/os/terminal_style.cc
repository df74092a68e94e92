#include "os/terminal_style.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <initializer_list>

#include <fmt/format.h>
#include <unistd.h>

namespace fray::os {

namespace {

// The first of the variables that is set and not empty.
std::string variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// A locale without a character set (C, POSIX, none) counts as UTF-8, as in Python.
bool is_unicode(std::string locale) {
  std::size_t dot = locale.find('.');
  if (dot == std::string::npos) return true;
  std::string name = locale.substr(dot + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return name.starts_with("utf-8") || name.starts_with("utf8");
}

bool has_colour(const std::string& choice, const Surroundings& surroundings) {
  if (!surroundings.no_color.empty() || choice == "never") return false;
  if (choice == "always") return true;
  if (!surroundings.force_color.empty()) return surroundings.force_color != "0";
  return surroundings.is_terminal && surroundings.term != "dumb";
}

}  // namespace

Surroundings surroundings_of(int fd) {
  return {variable({"NO_COLOR"}), variable({"FORCE_COLOR", "CLICOLOR_FORCE"}), variable({"TERM"}),
          variable({"LC_ALL", "LC_CTYPE", "LANG"}), ::isatty(fd) == 1};
}

TerminalStyle choose_style(const std::string& choice, const Surroundings& surroundings) {
  return {has_colour(choice, surroundings), is_unicode(surroundings.locale)};
}

std::string TerminalStyle::of_process(std::string_view text, int pid) const {
  constexpr std::array<std::string_view, 6> kCodes = {"36", "35", "34", "33", "32", "96"};
  return paint(text, kCodes[static_cast<std::size_t>(pid) % kCodes.size()]);
}

std::string TerminalStyle::paint(std::string_view text, std::string_view code) const {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace fray::os
