#include "http/job_log.h"

#include <utility>

namespace fray::http {

namespace {
// When there is nothing to wait for yet: no attempt, or not the next one.
constexpr std::chrono::milliseconds kAttemptPause{50};
}  // namespace

JobLog::~JobLog() {
  loop_.cancel(timer_);
  if (reader_ != 0) node_.cancel_read(reader_);
}

void JobLog::next(bool wait, Callback callback) {
  wait_ = wait;
  callback_ = std::move(callback);
  look_later({});
}

void JobLog::look_later(std::chrono::milliseconds pause) {
  timer_ = loop_.after(pause, [this] { request_.cursors.empty() ? open() : read(); });
}

void JobLog::open() {
  wire::OpenJobLog asked;
  asked.id = id_;
  wire::JobLogOpened opened = node_.open_job_log(asked);
  if (opened.code != StatusCode::kOk) return answer(Status(opened.code, opened.message));
  request_.id = opened.id;
  request_.attempt = opened.attempt;
  request_.cursors.clear();
  for (wire::LogCursor& cursor : opened.cursors) {
    if (place_.stream != 0 && (cursor.replica != place_.replica || cursor.stream != place_.stream)) continue;
    // An offset counts in the attempt that was asked for, the newest one then.
    if (place_.stream != 0) cursor.offset = std::exchange(place_.offset, 0);
    request_.cursors.push_back(cursor);
  }
  if (opened.attempt != 0 && request_.cursors.empty()) {
    return answer(Status(StatusCode::kNotFound, "the job has no such replica"));
  }
  read();
}

void JobLog::read() {
  request_.wait = wait_;
  asking_ = true;
  const auto reader = node_.read_job_log(request_, [this](const wire::JobLogPieces& pieces) {
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

void JobLog::arrived(wire::JobLogPieces message) {
  if (message.code != StatusCode::kOk) return answer(Status(message.code, message.message));
  for (const wire::LogPiece& piece : message.pieces) {
    for (wire::LogCursor& cursor : request_.cursors) {
      if (cursor.replica != piece.at.replica || cursor.stream != piece.at.stream) continue;
      cursor.offset = piece.at.offset + piece.bytes.size();
    }
  }
  LogPieces pieces{std::move(message.pieces), message.ended && message.job_ended};
  if (pieces.pieces.empty() && message.ended && message.newest > request_.attempt) return open();
  if (!pieces.pieces.empty() || pieces.ended || !wait_) return answer(std::move(pieces));
  request_.cursors.clear();  // the next attempt is looked for
  look_later(kAttemptPause);
}

}  // namespace fray::http
