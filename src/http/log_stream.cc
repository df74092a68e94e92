#include "http/log_stream.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::http {

namespace {

using nlohmann::json;

std::string event(const json& document) { return "data: " + json_text(document) + "\n\n"; }

}  // namespace

std::string printable(std::string_view bytes) {
  std::string rest;
  std::string text = websocket::as_text(bytes, &rest);
  return rest.empty() ? text : text + "\xEF\xBF\xBD";
}

LogStream::~LogStream() { loop_.cancel(timer_); }

void LogStream::start(Outlet& outlet) {
  outlet_ = &outlet;
  sign_of_life();
  ask();
}

void LogStream::drained() { ask(); }

void LogStream::abandoned() {
  outlet_ = nullptr;
  loop_.cancel(std::exchange(timer_, 0));
}

void LogStream::send(std::string_view bytes) {
  if (outlet_ != nullptr) outlet_->send(bytes);
}

void LogStream::ask() {
  if (outlet_ == nullptr || ended_ || std::exchange(asking_, true)) return;
  log_->next(true, [this](Result<LogPieces> pieces) { arrived(std::move(pieces)); });
}

void LogStream::arrived(Result<LogPieces> pieces) {
  const auto self = shared_from_this();
  asking_ = false;
  if (!pieces.is_ok()) return end(pieces.status());
  std::string out;
  for (const wire::LogPiece& piece : pieces->pieces) out += encoded(piece);
  const bool over = pieces->ended;
  // Sending may drain at once, which asks for the next piece; behind the last piece the stream ends instead.
  if (over) {
    ended_ = true;
    send(out);
    return end(Status::ok());
  }
  if (out.empty()) return ask();
  send(out);
}

std::string LogStream::encoded(const wire::LogPiece& piece) {
  if (form_ == Form::kWebSocket) {
    const std::string text = websocket::as_text(piece.bytes, &rest_);
    return text.empty() ? "" : websocket::text_frame(text);
  }
  return fmt::format("id: {}\n", piece.at.offset + piece.bytes.size()) + event({{"replica", piece.at.replica},
                                                                                {"stream", piece.at.stream},
                                                                                {"offset", piece.at.offset},
                                                                                {"missing", piece.missing},
                                                                                {"text", printable(piece.bytes)}});
}

void LogStream::end(const Status& why) {
  ended_ = true;
  if (form_ == Form::kWebSocket) {
    send(websocket::close_frame(why.is_ok() ? websocket::kNormal : websocket::kGoingAway));
  } else if (why.is_ok()) {
    send("event: end\ndata: {}\n\n");
  } else {
    send("event: error\n" + event({{"code", to_string(why.code())}, {"message", why.message()}}));
  }
  if (outlet_ != nullptr) outlet_->finish();
}

void LogStream::sign_of_life() {
  timer_ = loop_.after(kSignOfLife, [this] {
    const auto self = shared_from_this();
    if (!ended_) send(form_ == Form::kWebSocket ? websocket::ping_frame() : ": \n\n");
    if (outlet_ != nullptr) sign_of_life();
  });
}

void LogStream::received(std::string_view bytes) {
  if (form_ != Form::kWebSocket || outlet_ == nullptr) return;
  const auto self = shared_from_this();
  auto seen = frames_.take(bytes);
  if (!seen.is_ok() || seen->closed) {
    if (!std::exchange(ended_, true)) send(websocket::close_frame(websocket::kNormal));
    if (outlet_ != nullptr) outlet_->finish();
    return;
  }
  if (!seen->pongs.empty()) send(seen->pongs);
}

}  // namespace fray::http
