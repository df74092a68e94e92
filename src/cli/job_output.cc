#include "cli/job_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::cli {

Status JobOutput::print(cluster::JobLog& log, const Patience& patience) {
  while (true) {
    FRAY_ASSIGN_OR_RETURN(const LogBatch batch, log.next(patience));
    if (batch.pieces.empty()) break;
    add(batch);
    FRAY_RETURN_IF_ERROR(failed_);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Status(StatusCode::kIoError, fmt::format("its output cannot be written: {}", std::strerror(errno)));
    }
  }
  lines_.finish();
  std::fflush(stdout);
  return failed_;
}

void JobOutput::write(std::uint8_t stream, std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stream == 1 ? stdout : stderr);
}

void JobOutput::add(const LogBatch& batch) {
  of_several_ = batch.of_several;
  if (style_.json || style_.grep || of_several_) return lines_.add(batch);
  for (const LogPiece& piece : batch.pieces) {
    if (piece.missing > 0) write(piece.at.stream, cluster::missing_text(piece.missing));
    write(piece.at.stream, piece.bytes);
  }
}

void JobOutput::print_line(const cluster::LogLine& line) {
  if (!failed_.is_ok()) return;
  if (style_.grep) {
    Result<bool> found = style_.grep->is_in(line.text);
    if (!found.is_ok()) failed_ = Status(StatusCode::kInvalidArgument, "--grep " + found.status().message());
    if (!found.is_ok() || !*found) return;
  }
  if (style_.json) {
    const nlohmann::json document = {{"attempt", line.attempt},
                                     {"replica", line.replica},
                                     {"stream", line.stream == 1 ? "stdout" : "stderr"},
                                     {"text", line.text}};
    return write(1, json_text(document) + "\n");
  }
  cluster::LogLine whole = line;
  whole.has_end = true;
  write(line.stream, cluster::line_text(whole, of_several_));
}

}  // namespace fray::cli
