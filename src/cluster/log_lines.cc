#include "cluster/log_lines.h"

#include <fmt/format.h>

namespace fray::cluster {

namespace {
constexpr std::size_t kLongestLine = 1u << 20;
}

void LogLines::tell(const Stream& stream, std::string_view text, bool has_end) {
  on_line_({attempt_, stream.first, stream.second, text, has_end});
}

void LogLines::add(const LogBatch& batch) {
  if (batch.attempt != attempt_) finish();
  attempt_ = batch.attempt;
  for (const LogPiece& piece : batch.pieces) {
    const Stream stream{piece.at.replica, piece.at.stream};
    std::string& rest = rest_[stream];
    if (piece.missing > 0) rest += missing_text(piece.missing);
    rest += piece.bytes;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      tell(stream, std::string_view(rest).substr(begin, end - begin), true);
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() < kLongestLine) continue;
    tell(stream, rest, true);
    rest.clear();
  }
}

void LogLines::finish() {
  for (const auto& [stream, text] : rest_) {
    if (!text.empty()) tell(stream, text, false);
  }
  rest_.clear();
}

std::string missing_text(std::uint64_t bytes) {
  return fmt::format("[fray: {} bytes of this output are missing here]\n", bytes);
}

std::string line_text(const LogLine& line, bool of_several) {
  if (of_several) return fmt::format("[replica-{}] {}\n", line.replica, line.text);
  return fmt::format("{}{}", line.text, line.has_end ? "\n" : "");
}

}  // namespace fray::cluster
