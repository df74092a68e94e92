// TerminalStyle: whether what goes to a stream may have colours and characters beyond ASCII.
//
// Threading:  any thread; reads the environment.
// Ownership:  a value.
// Failure:    none. Colour is never the only sign of something.
#pragma once

#include <string>
#include <string_view>

namespace fray::os {

struct Surroundings {
  std::string no_color;     // NO_COLOR
  std::string force_color;  // FORCE_COLOR, else CLICOLOR_FORCE
  std::string term;         // TERM
  std::string locale;       // LC_ALL, else LC_CTYPE, else LANG
  bool is_terminal = false;
};

Surroundings surroundings_of(int fd);

struct TerminalStyle {
  bool colour = false;
  bool unicode = false;

  std::string green(std::string_view text) const { return paint(text, "32"); }
  std::string yellow(std::string_view text) const { return paint(text, "33"); }
  std::string red(std::string_view text) const { return paint(text, "31"); }
  // In one of several colours; processes that were started one after the other have different ones.
  std::string of_process(std::string_view text, int pid) const;

 private:
  std::string paint(std::string_view text, std::string_view code) const;
};

// NO_COLOR, then what `choice` says (always, never, auto), then FORCE_COLOR, then whether it is a terminal that can.
TerminalStyle choose_style(const std::string& choice, const Surroundings& surroundings);

}  // namespace fray::os
