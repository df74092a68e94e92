#include "http/job_log.h"

#include <utility>

namespace fray::http {

JobLog::~JobLog() {
  loop_.cancel(timer_);
  if (reader_ != 0) node_.cancel_read(reader_);
}

void JobLog::next(bool wait, Callback callback) {
  walk_.set_follow(wait);
  callback_ = std::move(callback);
  timer_ = loop_.after({}, [this] { walk_.has_to_open() ? open() : read(); });
}

void JobLog::open() {
  if (Status opened = walk_.opened(node_.open_job_log(walk_.to_open())); !opened.is_ok()) return answer(opened);
  if (place_.stream != 0) {
    std::erase_if(walk_.cursors(), [this](const LogCursor& cursor) {
      return cursor.replica != place_.replica || cursor.stream != place_.stream;
    });
    if (walk_.attempt() != 0 && walk_.cursors().empty()) {
      return answer(Status(StatusCode::kNotFound, "the job has no such replica"));
    }
    // An offset counts in the attempt that was asked for, the newest one then.
    const bool is_tail = std::exchange(place_.tail_lines, wire::OpenJobLog::kAll) != wire::OpenJobLog::kAll;
    for (LogCursor& cursor : walk_.cursors()) {
      if (place_.offset > 0 || !is_tail) cursor.offset = std::exchange(place_.offset, 0);
    }
  }
  read();
}

void JobLog::read() {
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

void JobLog::arrived(wire::JobLogPieces message) {
  const bool is_end = message.ended && message.job_ended;
  Result<LogBatch> batch = walk_.read(std::move(message));
  if (!batch.is_ok()) return answer(batch.status());
  if (batch->pieces.empty() && walk_.has_to_open()) return open();
  answer(LogPieces{std::move(batch->pieces), is_end});
}

}  // namespace fray::http
