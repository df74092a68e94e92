// LogTail: the last lines of an output: at most kMostLines and kMostBytes.
//
// Threading:  one thread.
// Ownership:  owns the text.
// Failure:    none; a line longer than the limit keeps its end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fray::node {

class LogTail {
 public:
  static constexpr std::size_t kMostLines = 20;
  static constexpr std::size_t kMostBytes = 8u << 10;

  void append(std::string_view text);
  // The kept lines, without a line end at the end.
  std::string text() const;

 private:
  std::string text_;
};

}  // namespace fray::node
