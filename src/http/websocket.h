// WebSocket frames (RFC 6455) as a server needs them: text out, control frames in.
//
// Threading:  values; a Reader by one thread.
// Ownership:  own their bytes.
// Failure:    Reader::take() is kCorruption for frames that a client must not send; the connection must then end.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::http::websocket {

inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;

// The value of Sec-WebSocket-Accept.
std::string accept_key(std::string_view key);

// The bytes as text: what is no UTF-8 becomes U+FFFD. Keeps an unfinished character at the end in `*rest`.
std::string as_text(std::string_view bytes, std::string* rest);

std::string text_frame(std::string_view text);
std::string ping_frame();
std::string pong_frame(std::string_view payload);
std::string close_frame(std::uint16_t code);

// What a client sends: masked frames. Text and binary messages are passed over.
class Reader {
 public:
  struct Seen {
    bool closed = false;
    std::string pongs;  // frames to send back
  };
  Result<Seen> take(std::string_view bytes);

 private:
  static constexpr std::size_t kMostPayload = 64 << 10;
  std::string in_;
};

}  // namespace fray::http::websocket
