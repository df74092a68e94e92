// FrameHeader: the 16 bytes before every message on every socket of the engine.
//
//    0        4      5      6         8                16
//    +--------+------+------+---------+----------------+------------- ... ---+
//    | length | type | fds  | version |       id       |  body (length bytes) |
//    +--------+------+------+---------+----------------+------------- ... ---+
//
// `length` counts the body only. `fds` is how many descriptors travel with the frame (SCM_RIGHTS, in order). `id` means
// what the type says: a task, a lease, a process. All numbers are little-endian (the engine runs on one host).
//
// Threading:  values.
// Ownership:  none.
// Failure:    validate() refuses another version and lengths above the limit; the connection must then be closed.
//             Every writer of frames calls set_length(), which refuses a body that is too large for readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace fray::wire {

// High byte: Fray; low byte: wire version, raised with every release in which a message reads differently or is new.
inline constexpr std::uint16_t kVersion = 0xF103;
inline constexpr std::uint32_t kMaxBodyBytes = 2u << 30;     // a frame is never larger; see set_length()
inline constexpr std::uint64_t kUsualBodyBytes = 64u << 20;  // allowed whatever the limit of the store is
inline constexpr std::size_t kMaxFdsPerFrame = 5;

struct FrameHeader {
  std::uint32_t length = 0;
  std::uint8_t type = 0;
  std::uint8_t fds = 0;
  std::uint16_t version = kVersion;
  std::uint64_t id = 0;
};
static_assert(sizeof(FrameHeader) == 16);

Status validate(const FrameHeader& header);

// Writes the length of the body, which is everything after the header at `begin`, into that header. False: the body is
// larger than kMaxBodyBytes; the frame is then removed from `out`.
bool set_length(std::string& out, std::size_t begin);
// The most that a sender may put into one body, in a session whose store has this limit.
std::uint64_t most_body_bytes(std::uint64_t store_limit_bytes);

}  // namespace fray::wire
