// LogStream: sends a job's output as it comes, as server-sent events or as text on a WebSocket.
//
//   events      id: <offset after it>, data: {"replica", "stream", "offset", "missing", "text"}; at the end `event: end`
//   WebSocket   text frames, at the end a close frame 1000, as Ray's dashboard has it
//
// It asks for more only when everything was sent, so that a slow reader costs the memory of one piece. While there is
// no output it sends a comment or a ping now and then, which finds out whether the reader is still there.
//
// Threading:  the loop's.
// Ownership:  owns the log. It keeps itself alive while it is called, because sending may end its client.
// Failure:    the last event says why reading has failed; a WebSocket is closed with 1001.
#pragma once

#include <memory>
#include <string>

#include "event/loop.h"
#include "http/connection.h"
#include "http/job_log.h"
#include "websocket/frames.h"

namespace fray::http {

class LogStream : public Stream, public std::enable_shared_from_this<LogStream> {
 public:
  enum class Form { kEvents, kWebSocket };

  LogStream(event::Loop& loop, std::unique_ptr<JobLog> log, Form form)
      : loop_(loop), log_(std::move(log)), form_(form) {}
  ~LogStream() override;

  void start(Outlet& outlet) override;
  void drained() override;
  void abandoned() override;
  void received(std::string_view bytes) override;

 private:
  static constexpr std::chrono::seconds kSignOfLife{15};

  void ask();
  void arrived(Result<LogPieces> pieces);
  std::string encoded(const wire::LogPiece& piece);
  void send(std::string_view bytes);
  void end(const Status& why);
  void sign_of_life();

  event::Loop& loop_;
  std::unique_ptr<JobLog> log_;
  const Form form_;
  Outlet* outlet_ = nullptr;  // until it has gone
  websocket::ControlReader frames_;
  std::string rest_;  // an unfinished character
  event::TimerId timer_ = 0;
  bool asking_ = false;
  bool ended_ = false;
};

// The text of a piece of log as JSON has it; bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view bytes);

}  // namespace fray::http
