// Frames of WebSockets (RFC 6455): the bytes of both sides, without any I/O.
//
// Threading:  values; a reader by one thread.
// Ownership:  own their bytes.
// Failure:    a reader returns kCorruption for frames that the other side must not send; the connection must then end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::websocket {

inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;

// A random key for a client. The server answers with the value of Sec-WebSocket-Accept that belongs to it.
std::string new_key();
std::string accept_key(std::string_view key);

// The bytes as text: bytes that are not UTF-8 become U+FFFD. Keeps an unfinished character at the end in `*rest`.
std::string as_text(std::string_view bytes, std::string* rest);

std::string text_frame(std::string_view text);
std::string ping_frame();
std::string pong_frame(std::string_view payload);
std::string close_frame(std::uint16_t code);
// The same frame as a client sends it.
std::string masked(std::string_view frame);

enum class Opcode : unsigned char { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

struct Frame {
  Opcode opcode;
  bool final;
  std::string payload;
};

// Splits the bytes of one side into frames.
class FrameReader {
 public:
  enum class Sender { kClient, kServer };  // a client masks its frames, a server does not

  FrameReader(Sender sender, std::size_t most_payload) : sender_(sender), most_payload_(most_payload) {}

  void add(std::string_view bytes);
  Result<std::optional<Frame>> next();  // nothing: the next frame is not whole yet

 private:
  struct Head {
    std::size_t bytes;
    std::size_t payload;
  };
  Result<std::optional<Head>> head() const;

  Sender sender_;
  std::size_t most_payload_;
  std::string in_;
  std::size_t taken_ = 0;  // bytes of `in_` that were frames already
};

// What a server reads: control frames. Text and binary messages are passed over.
class ControlReader {
 public:
  struct Seen {
    bool closed = false;
    std::string pongs;  // frames to send back
  };
  Result<Seen> take(std::string_view bytes);

 private:
  static constexpr std::size_t kMostPayload = 64 << 10;
  FrameReader frames_{FrameReader::Sender::kClient, kMostPayload};
};

// What a client reads: whole messages, and what has to be sent back.
class MessageReader {
 public:
  struct Event {
    enum class Kind { kMessage, kPing, kClose } kind;
    std::string payload;     // of a message or ping
    std::uint16_t code = 0;  // of a close; 0: none was given
  };

  explicit MessageReader(std::size_t most_bytes)
      : frames_(FrameReader::Sender::kServer, most_bytes), most_(most_bytes) {}

  void add(std::string_view bytes) { frames_.add(bytes); }
  Result<std::optional<Event>> next();  // nothing: more bytes are needed

 private:
  Status take_part(Frame frame);

  FrameReader frames_;
  std::size_t most_;
  std::string message_;  // of the frames so far
  bool is_open_ = false;
  bool is_text_ = false;
};

}  // namespace fray::websocket
