// Packer and Unpacker: write and read the bytes of portable values, item by item. The format is MessagePack with three
// extensions; see docs/formats/portable-values.md.
//
// Threading:  values; one thread each.
// Ownership:  a Packer appends to a string that it does not own. The bytes that an Unpacker reads must outlive it.
// Failure:    an Unpacker returns kBroken for bytes that are no item, and for all bytes after them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fray {
inline namespace v1 {

enum class Kind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kUnsigned,
  kFloat,
  kText,
  kBytes,
  kList,
  kDict,
  kArray,
  kRef,
  kActor,
  kBroken
};

inline const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {"None", "bool", "int",   "int", "float",        "str",         "bytes",
                                           "list", "dict", "array", "ref", "actor handle", "broken bytes"};
  return kNames[static_cast<std::size_t>(kind)];
}

// An array, whose elements are among the bytes of the items or in a buffer of their own.
struct PackedArray {
  std::string_view dtype;  // in the notation of numpy: "<f8"
  std::vector<std::uint64_t> shape;
  bool outside = false;
  std::uint32_t buffer = 0;  // the number of the buffer, if `outside`
  std::string_view bytes;    // the elements, otherwise
};

struct Item {
  Kind kind = Kind::kBroken;
  bool boolean = false;
  std::int64_t integer = 0;            // for kInt; also for kUnsigned, if it fits
  std::uint64_t unsigned_integer = 0;  // for kUnsigned, which is above the largest int64
  double real = 0;
  std::string_view bytes;  // of kText and kBytes; the description of kActor
  // The number of items of kList or of pairs of kDict that follow; for kRef and kActor the index in the table of refs.
  std::uint32_t count = 0;
  PackedArray array;
};

namespace packed {
inline constexpr std::uint8_t kArrayExtension = 1;
inline constexpr std::uint8_t kRefExtension = 2;
inline constexpr std::uint8_t kActorExtension = 3;
}  // namespace packed

class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  void none() { byte(0xC0); }
  void boolean(bool value) { byte(value ? 0xC3 : 0xC2); }
  void integer(std::int64_t value) {
    if (value >= -32 && value <= 127) return byte(static_cast<std::uint8_t>(value));
    byte(0xD3);
    big(static_cast<std::uint64_t>(value));
  }
  void unsigned_integer(std::uint64_t value) {
    if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
    byte(0xCF);
    big(value);
  }
  void real(double value) {
    byte(0xCB);
    big(std::bit_cast<std::uint64_t>(value));
  }
  void text(std::string_view value) {
    if (value.size() < 32) {
      byte(static_cast<std::uint8_t>(0xA0 | value.size()));
    } else {
      byte(0xDB);
      big(static_cast<std::uint32_t>(value.size()));
    }
    out_.append(value);
  }
  void bytes(std::string_view value) {
    byte(0xC6);
    big(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
  }
  void list(std::size_t count) { many(0x90, 0xDD, count); }
  void dict(std::size_t pairs) { many(0x80, 0xDF, pairs); }
  void ref(std::uint32_t place) {
    extension(packed::kRefExtension, 4);
    big(place);
  }
  void actor(std::uint32_t place, std::string_view description) {
    extension(packed::kActorExtension, 4 + description.size());
    big(place);
    out_.append(description);
  }
  void array(const PackedArray& array) {
    std::size_t size = 1 + 1 + array.dtype.size() + 1 + 8 * array.shape.size();
    size += array.outside ? 4 : array.bytes.size();
    extension(packed::kArrayExtension, size);
    byte(array.outside ? 1 : 0);
    byte(static_cast<std::uint8_t>(array.dtype.size()));
    out_.append(array.dtype);
    byte(static_cast<std::uint8_t>(array.shape.size()));
    for (std::uint64_t length : array.shape) big(length);
    if (array.outside) {
      big(array.buffer);
    } else {
      out_.append(array.bytes);
    }
  }

 private:
  void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  template <typename Number>
  void big(Number value) {  // MessagePack is big-endian
    for (int shift = 8 * (static_cast<int>(sizeof(value)) - 1); shift >= 0; shift -= 8) {
      byte(static_cast<std::uint8_t>(value >> shift));
    }
  }
  void many(std::uint8_t few, std::uint8_t mark, std::size_t count) {
    if (count < 16) return byte(static_cast<std::uint8_t>(few | count));
    byte(mark);
    big(static_cast<std::uint32_t>(count));
  }
  void extension(std::uint8_t type, std::size_t size) {
    byte(0xC9);
    big(static_cast<std::uint32_t>(size));
    byte(type);
  }

  std::string& out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return ok_ && bytes_.empty(); }
  // Skips the next item and returns true if that item is None.
  bool next_is_none() {
    if (bytes_.empty() || static_cast<std::uint8_t>(bytes_.front()) != 0xC0) return false;
    bytes_.remove_prefix(1);
    return true;
  }

  Item next() {
    Item item;
    const std::uint8_t mark = number<std::uint8_t>();
    if (!ok_) return item;
    if (mark <= 0x7F) return integer(mark);
    if (mark <= 0x8F) return many(Kind::kDict, mark & 0x0F);
    if (mark <= 0x9F) return many(Kind::kList, mark & 0x0F);
    if (mark <= 0xBF) return text(Kind::kText, mark & 0x1F);
    if (mark >= 0xE0) return integer(static_cast<std::int8_t>(mark));
    if (mark == 0xC0) {
      item.kind = Kind::kNone;
      return item;
    }
    if (mark == 0xC2 || mark == 0xC3) {
      item.kind = Kind::kBool;
      item.boolean = mark == 0xC3;
      return item;
    }
    return mark >= 0xCA && mark <= 0xD3 ? a_number(mark) : sized(mark);
  }

 private:
  // Reads the number that follows its mark.
  Item a_number(std::uint8_t mark) {
    switch (mark) {
      case 0xCA:
        return real(std::bit_cast<float>(number<std::uint32_t>()));
      case 0xCB:
        return real(std::bit_cast<double>(number<std::uint64_t>()));
      case 0xCC:
        return integer(number<std::uint8_t>());
      case 0xCD:
        return integer(number<std::uint16_t>());
      case 0xCE:
        return integer(number<std::uint32_t>());
      case 0xCF:
        return unsigned_integer(number<std::uint64_t>());
      case 0xD0:
        return integer(static_cast<std::int8_t>(number<std::uint8_t>()));
      case 0xD1:
        return integer(static_cast<std::int16_t>(number<std::uint16_t>()));
      case 0xD2:
        return integer(static_cast<std::int32_t>(number<std::uint32_t>()));
      default:
        return integer(static_cast<std::int64_t>(number<std::uint64_t>()));
    }
  }
  // Reads an item whose mark is followed by a size or a count.
  Item sized(std::uint8_t mark) {
    switch (mark) {
      case 0xC4:
        return text(Kind::kBytes, number<std::uint8_t>());
      case 0xC5:
        return text(Kind::kBytes, number<std::uint16_t>());
      case 0xC6:
        return text(Kind::kBytes, number<std::uint32_t>());
      case 0xC9:
        return extension(number<std::uint32_t>());
      case 0xD9:
        return text(Kind::kText, number<std::uint8_t>());
      case 0xDA:
        return text(Kind::kText, number<std::uint16_t>());
      case 0xDB:
        return text(Kind::kText, number<std::uint32_t>());
      case 0xDC:
        return many(Kind::kList, number<std::uint16_t>());
      case 0xDD:
        return many(Kind::kList, number<std::uint32_t>());
      case 0xDE:
        return many(Kind::kDict, number<std::uint16_t>());
      case 0xDF:
        return many(Kind::kDict, number<std::uint32_t>());
      default:
        return broken();
    }
  }
  Item broken() {
    ok_ = false;
    bytes_ = {};
    return Item();
  }
  std::string_view raw(std::size_t size) {
    if (bytes_.size() < size) {
      broken();
      return {};
    }
    std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  template <typename Number>
  Number number() {
    Number value = 0;
    for (char next : raw(sizeof(Number))) {
      value = static_cast<Number>((static_cast<std::uint64_t>(value) << 8) | static_cast<std::uint8_t>(next));
    }
    return value;
  }
  Item integer(std::int64_t value) {
    Item item;
    item.integer = value;
    if (ok_) item.kind = Kind::kInt;
    return item;
  }
  Item unsigned_integer(std::uint64_t value) {
    if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
    Item item;
    item.unsigned_integer = value;
    item.kind = Kind::kUnsigned;
    return item;
  }
  Item real(double value) {
    Item item;
    item.real = value;
    if (ok_) item.kind = Kind::kFloat;
    return item;
  }
  Item text(Kind kind, std::size_t size) {
    Item item;
    item.bytes = raw(size);
    if (ok_) item.kind = kind;
    return item;
  }
  // Each item that follows takes at least one byte. A larger count is an error, and must not make a reader reserve
  // memory.
  Item many(Kind kind, std::uint32_t count) {
    if (!ok_ || count > bytes_.size()) return broken();
    Item item;
    item.kind = kind;
    item.count = count;
    return item;
  }
  Item extension(std::uint32_t size) {
    const std::uint8_t type = number<std::uint8_t>();
    Unpacker body(raw(size));
    if (!ok_) return Item();
    Item item;
    switch (type) {
      case packed::kRefExtension:
        item.kind = Kind::kRef;
        item.count = body.number<std::uint32_t>();
        break;
      case packed::kActorExtension:
        item.kind = Kind::kActor;
        item.count = body.number<std::uint32_t>();
        item.bytes = body.raw(body.bytes_.size());
        break;
      case packed::kArrayExtension:
        item.kind = Kind::kArray;
        item.array.outside = body.number<std::uint8_t>() != 0;
        item.array.dtype = body.raw(body.number<std::uint8_t>());
        item.array.shape.resize(body.number<std::uint8_t>());
        for (std::uint64_t& length : item.array.shape) length = body.number<std::uint64_t>();
        if (item.array.outside) {
          item.array.buffer = body.number<std::uint32_t>();
        } else {
          item.array.bytes = body.raw(body.bytes_.size());
        }
        break;
      default:
        return broken();
    }
    return body.done() ? item : broken();
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace v1
}  // namespace fray
