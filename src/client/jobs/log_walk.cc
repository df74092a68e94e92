#include "client/jobs/log_walk.h"

#include <utility>

namespace fray::client {

Status LogWalk::opened(wire::JobLogOpened answer) {
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  is_open_ = true;
  read_.id = answer.id;
  read_.attempt = answer.attempt;
  read_.cursors = std::move(answer.cursors);
  of_several_ = read_.cursors.size() > 2;
  // The attempts after this one are read from their beginning.
  open_ = {};
  open_.id = read_.id;
  return Status::ok();
}

Result<LogBatch> LogWalk::read(wire::JobLogPieces answer) {
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  LogBatch batch{read_.attempt, of_several_, std::move(answer.pieces)};
  for (const LogPiece& piece : batch.pieces) {
    for (LogCursor& cursor : read_.cursors) {
      if (cursor.replica != piece.at.replica || cursor.stream != piece.at.stream) continue;
      cursor.offset = piece.at.offset + piece.bytes.size();
    }
  }
  const bool has_newer = answer.newest > read_.attempt && !read_.alone;
  is_at_end_ = answer.ended && !has_newer && (answer.job_ended || read_.alone);
  if (!batch.pieces.empty()) return batch;
  if (!read_.wait || is_at_end_) over_ = true;
  if (read_.wait && has_newer) is_open_ = false;
  return batch;
}

}  // namespace fray::client
