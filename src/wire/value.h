// Value: an encoded Python or C++ value on its way between processes, with the ids of the refs inside it.
//
// Small values are inline; large ones lie in shared memory, and only their place travels. The encoding says how the
// bytes are to be read. The engine itself never reads them: nothing is unpickled in the node.
//
//   encoding(1) kind(1) reserved(2) nested(4) size(4)  bytes (size) | ObjectId Location   nested x ObjectId
//
// Threading:  a value; ValueView looks into a frame that must outlive it.
// Ownership:  Value owns its bytes, ValueView does not. Nested ids are ids only: the caller sees to the counts of the
//             objects.
// Failure:    decode() marks the reader failed on anything that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "wire/bytes.h"

namespace fray::wire {

// How the bytes of a value are to be read. Numbers are part of the wire format.
enum class Encoding : std::uint8_t {
  kNone = 0,
  kTrue = 1,
  kFalse = 2,
  kInt64 = 3,             // 8 bytes
  kFloat64 = 4,           // 8 bytes
  kUtf8 = 5,              // a str
  kBytes = 6,             // a bytes
  kPickle = 7,            // one pickle, no buffers out of band
  kPickleBuffers = 8,     // a pickle and its out-of-band buffers; see store/buffer_layout.h
  kException = 9,         // failed: a packed exception of the user's code (fray._failures)
  kStatus = 10,           // failed: a StatusCode byte and a message of the engine
  kItems = 11,            // the list of the values of the refs inside: what a generator task gave
  kRefs = 12,             // the list of the refs inside
  kActorDied = 13,        // failed: wire::ActorDeath
  kPortable = 14,         // a value that every language can read; see docs/formats/portable-values.md
  kPortableBuffers = 15,  // the same with its arrays behind it; see store/buffer_layout.h
  kFailure = 16,          // failed: wire::Failure, a failure of user code that every language can read
};

inline constexpr Encoding kLastEncoding = Encoding::kFailure;
constexpr Encoding last_of(Encoding) { return kLastEncoding; }

inline bool is_failure(Encoding encoding) {
  return encoding == Encoding::kException || encoding == Encoding::kStatus || encoding == Encoding::kActorDied ||
         encoding == Encoding::kFailure;
}

// A value of several buffers in one block; see store/buffer_layout.h.
inline bool has_buffers(Encoding encoding) {
  return encoding == Encoding::kPickleBuffers || encoding == Encoding::kPortableBuffers;
}

enum class ValueKind : std::uint8_t { kInline = 0, kSealed = 1 };

struct Value {
  Encoding encoding = Encoding::kNone;
  ValueKind kind = ValueKind::kInline;
  std::string bytes;             // kInline
  ObjectId object;               // kSealed: the object that holds the bytes
  Location location;             // kSealed
  std::vector<ObjectId> nested;  // refs inside, in the order of the side table
};

struct ValueView {
  Encoding encoding = Encoding::kNone;
  ValueKind kind = ValueKind::kInline;
  std::string_view bytes;
  ObjectId object;
  Location location;
  std::uint32_t nested_count = 0;
  std::string_view nested_bytes;  // nested_count ObjectIds, unaligned

  ObjectId nested(std::uint32_t index) const;
  Value to_value() const;
};

void encode(ByteWriter& out, const Value& value);
void encode(ByteWriter& out, const ValueView& value);
ValueView decode_value(ByteReader& in);
inline void decode(ByteReader& in, Value& value) { value = decode_value(in).to_value(); }

}  // namespace fray::wire
