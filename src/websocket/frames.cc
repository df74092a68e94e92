#include "websocket/frames.h"

#include <array>
#include <utility>

#include <openssl/evp.h>
#include <openssl/rand.h>

namespace fray::websocket {

namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr unsigned char kFinal = 0x80;
constexpr unsigned char kMasked = 0x80;
constexpr unsigned char kReserved = 0x70;  // bits of extensions, which this implementation never negotiates
constexpr std::size_t kMaskBytes = 4;
constexpr std::size_t kMostControl = 125;

std::string frame(Opcode opcode, std::string_view payload) {
  std::string out(1, static_cast<char>(kFinal | static_cast<unsigned char>(opcode)));
  const std::size_t size = payload.size();
  if (size < 126) {
    out += static_cast<char>(size);
  } else {
    const int bytes = size <= 0xFFFF ? 2 : 8;
    out += static_cast<char>(bytes == 2 ? 126 : 127);
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((size >> (8 * i)) & 0xFF);
  }
  return out.append(payload);
}

std::string base64(const unsigned char* bytes, std::size_t size) {
  std::string encoded(size / 3 * 4 + 5, '\0');  // OpenSSL puts a zero byte behind it
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()), bytes, static_cast<int>(size));
  encoded.resize(static_cast<std::size_t>(length));
  return encoded;
}

Status broken(const char* why) { return Status(StatusCode::kCorruption, why); }

bool is_control(Opcode opcode) { return static_cast<unsigned char>(opcode) >= 8; }

bool is_known(Opcode opcode) {
  const auto number = static_cast<unsigned char>(opcode);
  return number <= 2 || (number >= 8 && number <= 10);
}

// How many bytes the character that begins with `first` has; 0 when none begins so.
std::size_t character_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// How many of the first bytes of `text` can belong to one character of this size.
std::size_t good_bytes(std::string_view text, std::size_t size) {
  std::size_t good = 1;
  for (; good < size && good < text.size(); ++good) {
    const auto byte = static_cast<unsigned char>(text[good]);
    unsigned char low = 0x80, high = 0xBF;
    if (good == 1) {
      const auto first = static_cast<unsigned char>(text[0]);
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    }
    if (byte < low || byte > high) break;
  }
  return good;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character_size(static_cast<unsigned char>(text.front()));
    if (size == 0 || good_bytes(text, size) != size) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

std::string new_key() {
  std::array<unsigned char, 16> drawn{};
  RAND_bytes(drawn.data(), static_cast<int>(drawn.size()));
  return base64(drawn.data(), drawn.size());
}

std::string accept_key(std::string_view key) {
  std::string text(key);
  text += kMagic;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return base64(digest.data(), size);
}

std::string as_text(std::string_view bytes, std::string* rest) {
  std::string joined = std::exchange(*rest, {}) + std::string(bytes);
  std::string_view left = joined;
  std::string text;
  while (!left.empty()) {
    const std::size_t size = character_size(static_cast<unsigned char>(left.front()));
    const std::size_t good = size == 0 ? 1 : good_bytes(left, size);
    if (size != 0 && good < size && good == left.size()) {
      *rest = left;
      break;
    }
    if (good == size) {
      text += left.substr(0, size);
    } else {
      text += kReplacement;
    }
    left.remove_prefix(good);
  }
  return text;
}

std::string text_frame(std::string_view text) { return frame(Opcode::kText, text); }
std::string ping_frame() { return frame(Opcode::kPing, ""); }
std::string pong_frame(std::string_view payload) { return frame(Opcode::kPong, payload); }

std::string close_frame(std::uint16_t code) {
  const std::array<char, 2> payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  return frame(Opcode::kClose, {payload.data(), payload.size()});
}

std::string masked(std::string_view frame) {
  std::array<unsigned char, kMaskBytes> mask{};
  RAND_bytes(mask.data(), static_cast<int>(mask.size()));
  const auto length = static_cast<unsigned char>(frame[1]);
  const std::size_t head = 2 + (length == 126 ? 2 : length == 127 ? 8 : 0);
  std::string out(frame.substr(0, head));
  out[1] = static_cast<char>(length | kMasked);
  out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  for (std::size_t i = head; i < frame.size(); ++i) out += static_cast<char>(frame[i] ^ mask[(i - head) % kMaskBytes]);
  return out;
}

// ---- FrameReader

void FrameReader::add(std::string_view bytes) {
  in_.erase(0, std::exchange(taken_, 0));
  in_ += bytes;
}

Result<std::optional<FrameReader::Head>> FrameReader::head() const {
  const std::string_view in = std::string_view(in_).substr(taken_);
  if (in.size() < 2) return std::optional<Head>();
  const auto first = static_cast<unsigned char>(in[0]);
  const auto second = static_cast<unsigned char>(in[1]);
  const auto opcode = static_cast<Opcode>(first & 0x0F);
  const bool is_masked = (second & kMasked) != 0;
  if ((first & kReserved) != 0) return broken("a frame has bits of an extension");
  if (!is_known(opcode)) return broken("a frame is of an unknown kind");
  if (is_masked != (sender_ == Sender::kClient)) {
    return broken(is_masked ? "a server's frame is masked" : "a client's frame is not masked");
  }
  std::uint64_t size = second & 0x7F;
  if (is_control(opcode) && (size > kMostControl || (first & kFinal) == 0)) {
    return broken("a control frame is long or in parts");
  }
  const std::size_t extra = size == 126 ? 2 : size == 127 ? 8 : 0;
  const std::size_t bytes = 2 + extra + (is_masked ? kMaskBytes : 0);
  if (in.size() < bytes) return std::optional<Head>();
  if (extra > 0) size = 0;
  for (std::size_t i = 0; i < extra; ++i) size = (size << 8) | static_cast<unsigned char>(in[2 + i]);
  if (size > most_payload_) return broken("a frame is too large");
  return std::optional<Head>(Head{bytes, static_cast<std::size_t>(size)});
}

Result<std::optional<Frame>> FrameReader::next() {
  FRAY_ASSIGN_OR_RETURN(const std::optional<Head> head, this->head());
  if (!head || in_.size() - taken_ < head->bytes + head->payload) return std::optional<Frame>();
  const char* begin = in_.data() + taken_;
  const auto first = static_cast<unsigned char>(begin[0]);
  Frame frame{static_cast<Opcode>(first & 0x0F), (first & kFinal) != 0,
              std::string(begin + head->bytes, head->payload)};
  if (sender_ == Sender::kClient) {
    const char* mask = begin + head->bytes - kMaskBytes;
    for (std::size_t i = 0; i < frame.payload.size(); ++i) frame.payload[i] ^= mask[i % kMaskBytes];
  }
  taken_ += head->bytes + head->payload;
  return std::optional<Frame>(std::move(frame));
}

// ---- ControlReader

Result<ControlReader::Seen> ControlReader::take(std::string_view bytes) {
  frames_.add(bytes);
  Seen seen;
  while (true) {
    FRAY_ASSIGN_OR_RETURN(const std::optional<Frame> frame, frames_.next());
    if (!frame) return seen;
    if (frame->opcode == Opcode::kClose) seen.closed = true;
    if (frame->opcode == Opcode::kPing) seen.pongs += pong_frame(frame->payload);
  }
}

// ---- MessageReader

// The first frame of a message has its type; the others continue it.
Status MessageReader::take_part(Frame frame) {
  if ((frame.opcode == Opcode::kContinuation) != is_open_) return broken("the frames of a message are out of order");
  if (!is_open_) is_text_ = frame.opcode == Opcode::kText;
  is_open_ = !frame.final;
  if (message_.size() + frame.payload.size() > most_) return broken("a message is too large");
  message_ += frame.payload;
  return Status::ok();
}

Result<std::optional<MessageReader::Event>> MessageReader::next() {
  while (true) {
    FRAY_ASSIGN_OR_RETURN(std::optional<Frame> frame, frames_.next());
    if (!frame) return std::optional<Event>();
    switch (frame->opcode) {
      case Opcode::kPong:
        continue;
      case Opcode::kPing:
        return std::optional<Event>(Event{Event::Kind::kPing, std::move(frame->payload)});
      case Opcode::kClose: {
        const std::string& code = frame->payload;
        Event close{Event::Kind::kClose, {}};
        if (code.size() >= 2) {
          close.code = static_cast<std::uint16_t>(static_cast<unsigned char>(code[0]) << 8 |
                                                  static_cast<unsigned char>(code[1]));
        }
        return std::optional<Event>(std::move(close));
      }
      case Opcode::kContinuation:
      case Opcode::kText:
      case Opcode::kBinary:
        FRAY_RETURN_IF_ERROR(take_part(std::move(*frame)));
        if (is_open_) continue;
        if (is_text_ && !is_utf8(message_)) return broken("a text is not UTF-8");
        return std::optional<Event>(Event{Event::Kind::kMessage, std::exchange(message_, {})});
    }
  }
}

}  // namespace fray::websocket
