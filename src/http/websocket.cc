#include "http/websocket.h"

#include <array>
#include <cstdint>

#include <openssl/evp.h>

namespace fray::http::websocket {

namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr unsigned char kFinal = 0x80;
constexpr unsigned char kMasked = 0x80;
enum Opcode : unsigned char { kText = 1, kClose = 8, kPing = 9, kPong = 10 };

std::string frame(Opcode opcode, std::string_view payload) {
  std::string out(1, static_cast<char>(kFinal | opcode));
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

// How many bytes the character that begins with `first` has; 0 when none begins so.
std::size_t character_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// How many of its first bytes can be those of a character.
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

}  // namespace

std::string accept_key(std::string_view key) {
  std::string text(key);
  text += kMagic;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  std::array<unsigned char, 64> encoded{};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(length)};
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

std::string text_frame(std::string_view text) { return frame(kText, text); }
std::string ping_frame() { return frame(kPing, ""); }
std::string pong_frame(std::string_view payload) { return frame(kPong, payload); }

std::string close_frame(std::uint16_t code) {
  const std::array<char, 2> payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  return frame(kClose, {payload.data(), payload.size()});
}

Result<Reader::Seen> Reader::take(std::string_view bytes) {
  in_ += bytes;
  Seen seen;
  while (in_.size() >= 2) {
    const auto opcode = static_cast<unsigned char>(in_[0] & 0x0F);
    const auto second = static_cast<unsigned char>(in_[1]);
    if ((second & kMasked) == 0) return Status(StatusCode::kCorruption, "a client's frame is not masked");
    std::uint64_t size = second & 0x7F;
    const std::size_t extra = size == 126 ? 2 : size == 127 ? 8 : 0;
    const std::size_t head = 2 + extra + 4;
    if (in_.size() < head) break;
    if (extra > 0) size = 0;
    for (std::size_t i = 0; i < extra; ++i) size = (size << 8) | static_cast<unsigned char>(in_[2 + i]);
    if (size > kMostPayload) return Status(StatusCode::kCorruption, "a client's frame is too large");
    if (in_.size() < head + size) break;
    std::string payload = in_.substr(head, size);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] ^= in_[2 + extra + i % 4];
    in_.erase(0, head + size);
    if (opcode == kClose) seen.closed = true;
    if (opcode == kPing) seen.pongs += pong_frame(payload);
  }
  return seen;
}

}  // namespace fray::http::websocket
