// NodeLog: the lines that the node itself has written, read back from the file that its standard error leads to.
//
// Threading:  the node's loop; reads at most kMostBytes at once.
// Ownership:  none.
// Failure:    a standard error that leads to no file (a terminal, a pipe, /dev/null) has no path and no lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fray::node {

class NodeLog {
 public:
  static constexpr std::size_t kMostBytes = 256u << 10;

  // The file that is the standard error of this process; empty where that is no file.
  static std::string path();

  // The last lines, oldest first; `end` is where they end.
  static std::vector<std::string> last_lines(std::size_t most, std::uint64_t* end);
  // Whole lines after `end`, which moves on; what was written beyond kMostBytes meanwhile is passed over.
  static std::vector<std::string> lines_after(std::uint64_t* end);
};

}  // namespace fray::node
