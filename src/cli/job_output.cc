#include "cli/job_output.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::cli {

namespace {
constexpr std::size_t kLongestLine = 1u << 20;
}

Status JobOutput::print(wire::OpenJobLog request, bool follow, const door::Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(wire::JobLogOpened opened, jobs_.open_log(request, patience));
  while (true) {
    attempt_ = opened.attempt;
    numbered_ = opened.cursors.size() > 2;
    wire::ReadJobLog read;
    read.id = opened.id;
    read.attempt = opened.attempt;
    read.wait = follow;
    read.cursors = opened.cursors;
    wire::JobLogPieces pieces;
    do {
      FRAY_ASSIGN_OR_RETURN(pieces, jobs_.read_log(read, patience));
      for (const wire::LogPiece& piece : pieces.pieces) {
        add(piece);
        for (wire::LogCursor& cursor : read.cursors) {
          if (cursor.replica != piece.at.replica || cursor.stream != piece.at.stream) continue;
          cursor.offset = piece.at.offset + piece.bytes.size();
        }
      }
      std::fflush(stdout);
    } while (!pieces.pieces.empty());
    finish_lines();
    if (!follow || pieces.newest <= opened.attempt) return Status::ok();
    request.id = opened.id;
    request.attempt = pieces.newest;
    request.tail_lines = wire::OpenJobLog::kAll;
    FRAY_ASSIGN_OR_RETURN(opened, jobs_.open_log(request, patience));
  }
}

void JobOutput::write(std::uint8_t stream, std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stream == 1 ? stdout : stderr);
}

void JobOutput::add(const wire::LogPiece& piece) {
  const Stream stream{piece.at.replica, piece.at.stream};
  if (piece.missing > 0 && !style_.json) {
    write(stream.second, fmt::format("[fray: {} bytes of this output are missing here]\n", piece.missing));
  }
  const bool raw = !style_.json && !style_.grep && !numbered_;
  raw ? write(stream.second, piece.bytes) : add_lines(stream, piece.bytes);
}

void JobOutput::add_lines(const Stream& stream, const std::string& bytes) {
  std::string& rest = rest_[stream];
  rest += bytes;
  std::size_t begin = 0;
  for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
    line(stream, std::string_view(rest).substr(begin, end - begin));
    begin = end + 1;
  }
  rest.erase(0, begin);
  if (rest.size() < kLongestLine) return;
  line(stream, rest);
  rest.clear();
}

void JobOutput::line(const Stream& stream, std::string_view text) {
  if (style_.grep && !std::regex_search(text.begin(), text.end(), *style_.grep)) return;
  if (style_.json) {
    const nlohmann::json document = {{"attempt", attempt_},
                                     {"replica", stream.first},
                                     {"stream", stream.second == 1 ? "stdout" : "stderr"},
                                     {"text", text}};
    write(1, json_text(document) + "\n");
  } else {
    write(stream.second, numbered_ ? fmt::format("[replica-{}] {}\n", stream.first, text) : fmt::format("{}\n", text));
  }
}

void JobOutput::finish_lines() {
  for (const auto& [stream, text] : rest_) {
    if (!text.empty()) line(stream, text);
  }
  rest_.clear();
}

}  // namespace fray::cli
