#include "node/workers/log_tail.h"

namespace fray::node {

void LogTail::append(std::string_view text) {
  if (text.size() > kMostBytes) text.remove_prefix(text.size() - kMostBytes);
  text_.append(text);
  if (text_.size() > 4 * kMostBytes) text_.erase(0, text_.size() - kMostBytes);
}

std::string LogTail::text() const {
  std::string_view view = text_;
  if (view.size() > kMostBytes) view.remove_prefix(view.size() - kMostBytes);
  while (!view.empty() && view.back() == '\n') view.remove_suffix(1);
  std::size_t start = view.size();
  for (std::size_t line = 0; line < kMostLines && start != 0; ++line) {
    std::size_t end = view.rfind('\n', start - 1);
    if (end == std::string_view::npos) {
      start = 0;
    } else {
      start = line + 1 == kMostLines ? end + 1 : end;
    }
  }
  return std::string(view.substr(start));
}

}  // namespace fray::node
