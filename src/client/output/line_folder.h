// LineFolder: decides which lines of the workers' output are shown. A line that a hundred workers print at the same
// moment is shown twice, and then once more with the number of times.
//
// A text is counted for kWindow from when it is first seen, whichever worker prints it. Its first kShown lines pass;
// the others are held back, and when the window is over one line stands for all of them. Empty and very long lines
// always pass.
//
// Threading:  one thread at a time; the time is an argument.
// Ownership:  values only.
// Failure:    beyond kMostTexts in one window, further texts are not remembered and pass.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wire/process.h"

namespace fray::client {

class LineFolder {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr std::uint64_t kShown = 2;
  static constexpr std::size_t kMostTexts = 1024;
  static constexpr std::size_t kLongestText = 1024;  // longer lines always pass

  // The lines of `log` that are to be shown now; the text is empty when all of them are held back.
  wire::Log pass(wire::Log log, Moment now);
  // One line for each text of which lines were held back, of the windows that are over or of all windows.
  std::vector<wire::Log> take_due(Moment now);
  std::vector<wire::Log> take_all();
  bool is_empty() const { return order_.empty(); }
  // When take_due() will have something to do; nothing while no line is held back.
  std::optional<Moment> next_due() const;

 private:
  struct Window {
    Moment end;
    std::uint64_t seen = 0;
    wire::Log last;  // of those held back
    std::set<std::int32_t> pids;
  };

  bool is_shown(const wire::Log& log, std::string_view line, Moment now);
  wire::Log summary(const Window& window) const;
  void end_first(std::vector<wire::Log>* lines);

  std::unordered_map<std::string, Window> windows_;  // by stream and text
  std::deque<std::string> order_;                    // the windows, the first to end in front
  std::size_t holding_ = 0;                          // windows that hold lines back
};

}  // namespace fray::client
