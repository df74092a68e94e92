#include "http/job_log.h"

#include <utility>

namespace fray::http {

NodeJobLog::~NodeJobLog() {
  loop_.cancel(timer_);
  if (reader_ != 0) node_.cancel_read(reader_);
}

void NodeJobLog::next(bool wait, Callback callback) {
  walk_.set_follow(wait);
  callback_ = std::move(callback);
  timer_ = loop_.after({}, [this] { walk_.has_to_open() ? open() : read(); });
}

void NodeJobLog::open() {
  if (Status opened = walk_.opened(node_.open_job_log(walk_.to_open())); !opened.is_ok()) return answer(opened);
  if (place_.stream != 0) {
    std::erase_if(walk_.cursors(), [this](const LogCursor& cursor) {
      return cursor.replica != place_.replica || cursor.stream != place_.stream;
    });
    if (walk_.attempt() != 0 && walk_.cursors().empty()) {
      return answer(Status(StatusCode::kNotFound, "the job has no such replica"));
    }
    // An offset counts in the attempt that was asked for, or in the newest one then.
    const bool is_tail = std::exchange(place_.tail_lines, wire::OpenJobLog::kAll) != wire::OpenJobLog::kAll;
    for (LogCursor& cursor : walk_.cursors()) {
      if (place_.offset > 0 || !is_tail) cursor.offset = std::exchange(place_.offset, 0);
    }
  }
  read();
}

void NodeJobLog::read() {
  asking_ = true;
  const auto reader = node_.read_job_log(walk_.to_read(), [this](const wire::JobLogPieces& pieces) {
    if (asking_) {
      at_once_ = pieces;
      return;
    }
    reader_ = 0;
    arrived(pieces);
  });
  asking_ = false;
  reader_ = reader;
  if (at_once_) arrived(std::move(*std::exchange(at_once_, std::nullopt)));
}

void NodeJobLog::arrived(wire::JobLogPieces message) {
  Result<LogBatch> batch = walk_.read(std::move(message));
  if (!batch.is_ok()) return answer(batch.status());
  if (walk_.has_to_open()) return open();
  answer(LogPieces{std::move(batch->pieces), walk_.is_at_end()});
}

// ---- The log of another cluster ----

void ClusterJobLog::next(bool wait, Callback callback) {
  if (Status opened = log_ ? Status::ok() : open(wait); !opened.is_ok()) {
    timer_ = loop_.after({}, [opened, callback = std::move(callback)] { callback(opened); });
    return;
  }
  read(std::move(callback));
}

void ClusterJobLog::read(Callback callback) {
  log_->next([this, callback = std::move(callback)](Result<node::ClusterLog::Lines> lines) {
    arrived(std::move(lines), callback);
  });
}

Status ClusterJobLog::open(bool follow) {
  node::ClusterLog::Place place;
  place.id = id_;
  place.follow = follow;
  place.attempt = place_.attempt;
  place.replica = place_.replica;
  place.stream = place_.stream;
  if (place_.offset == 0 && place_.tail_lines != wire::OpenJobLog::kAll) place.tail_lines = place_.tail_lines;
  FRAY_ASSIGN_OR_RETURN(log_, clusters_.open_log(cluster_, place));
  return Status::ok();
}

// Lines before the place where reading begins are skipped here, because the log of a cluster can only be read from its
// beginning.
void ClusterJobLog::arrived(Result<node::ClusterLog::Lines> lines, const Callback& callback) {
  if (!lines.is_ok()) return callback(lines.status());
  const std::uint64_t begin = offset_;
  offset_ += lines->text.size();
  // An answer without pieces would mean the end of the log.
  if (!lines->text.empty() && offset_ <= place_.offset && !lines->ended) return read(callback);
  LogPieces pieces;
  pieces.ended = lines->ended;
  if (!lines->text.empty() && offset_ > place_.offset) {
    const std::uint64_t passed = place_.offset > begin ? place_.offset - begin : 0;
    pieces.pieces.push_back({{place_.replica, place_.stream, begin + passed}, 0, lines->text.substr(passed)});
  }
  callback(std::move(pieces));
}

}  // namespace fray::http
