// Reads and writes messages in the encoding of Protocol Buffers, as far as Iris uses it.
//
//   struct Point { std::int32_t x{}; template <...> static void each(Self& self, Visit& visit) { visit(1, self.x); } };
//   std::string bytes = encoded(point);
//   if (!decoded(bytes, point)) ...
//
// Fields with their default values are not written. Reading adds to what the struct holds already: unknown fields are
// skipped, the later value of a field that comes twice counts, and lists and maps grow. tools/iris_messages.py writes
// the structs.
//
// (The libraries of Protocol Buffers that Debian has for static linking cannot become part of a Python extension.)
//
// Threading:  any thread.
// Ownership:  the decoder copies what it keeps.
// Failure:    decoded() is false for bytes that break the format, or whose messages lie in each other too deeply.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fray::iris {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

inline constexpr int kMostMessageDepth = 32;

// ---- Writing

class ProtobufWriter {
 public:
  explicit ProtobufWriter(std::string& out) : out_(out) {}

  void operator()(int number, const std::string& text) {
    if (!text.empty()) put(number, text);
  }
  void operator()(int number, bool value) {
    if (value) put(number, value);
  }
  void operator()(int number, double value) {
    if (value != 0) put(number, value);
  }
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void operator()(int number, T value) {
    if (static_cast<std::int64_t>(value) != 0) put(number, value);
  }
  template <typename T>
  void operator()(int number, const std::optional<T>& value) {
    if (value) put(number, *value);
  }
  template <typename T>
  void operator()(int number, const std::vector<T>& list) {
    for (const T& each : list) put(number, each);
  }
  template <typename K, typename V>
  void operator()(int number, const std::map<K, V>& map) {
    for (const auto& [key, value] : map) {
      std::string entry;
      ProtobufWriter writer(entry);
      writer.put(1, key);
      writer.put(2, value);
      put(number, entry);
    }
  }

 private:
  void put(int number, const std::string& bytes) {
    tag(number, WireType::kBytes);
    varint(bytes.size());
    out_ += bytes;
  }
  void put(int number, double value) {
    tag(number, WireType::kFixed64);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i));
  }
  template <typename T>
  void put(int number, const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      tag(number, WireType::kVarint);
      varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    } else {
      std::string inner;
      ProtobufWriter writer(inner);
      T::each(value, writer);
      put(number, inner);
    }
  }
  void tag(int number, WireType type) {
    varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string& out_;
};

template <typename T>
std::string encoded(const T& message) {
  std::string bytes;
  ProtobufWriter writer(bytes);
  T::each(message, writer);
  return bytes;
}

// ---- Reading

// A field as it was read: a number or bytes, depending on its wire type.
struct ProtobufField {
  int number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;
  std::string_view bytes;
};

// Takes the next field off the front of the bytes; nothing when they break the format.
std::optional<ProtobufField> take_field(std::string_view& bytes);

template <typename T>
bool decode_within(std::string_view bytes, T& message, int depth);

// Visits the fields of a message and stores a field that was read in the member that has its number.
class ProtobufReader {
 public:
  ProtobufReader(const ProtobufField& field, int depth) : field_(field), depth_(depth) {}

  template <typename T>
  void operator()(int number, T& place) {
    if (number == field_.number) is_right_ = take(place);
  }
  // A field whose wire type is not the one of the member is treated as unreadable.
  bool is_right() const { return is_right_; }

 private:
  bool take(std::string& text) {
    text = field_.bytes;
    return field_.type == WireType::kBytes;
  }
  bool take(double& value) {
    std::memcpy(&value, &field_.value, sizeof(value));
    return field_.type == WireType::kFixed64;
  }
  template <typename T>
  bool take(std::optional<T>& value) {
    if (!value) value.emplace();
    return take(*value);
  }
  template <typename T>
  bool take(std::vector<T>& list) {
    return take(list.emplace_back());
  }
  template <typename K, typename V>
  bool take(std::map<K, V>& map) {
    if (field_.type != WireType::kBytes) return false;
    Entry<K, V> entry;
    if (!decode_within(field_.bytes, entry, depth_ + 1)) return false;
    map[entry.key] = std::move(entry.value);
    return true;
  }
  template <typename T>
  bool take(T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(field_.value);
      return field_.type == WireType::kVarint;
    } else {
      return field_.type == WireType::kBytes && decode_within(field_.bytes, value, depth_ + 1);
    }
  }

  template <typename K, typename V>
  struct Entry {
    K key{};
    V value{};

    template <typename Self, typename Visit>
    static void each(Self& self, Visit& visit) {
      visit(1, self.key);
      visit(2, self.value);
    }
  };

  const ProtobufField& field_;
  const int depth_;
  bool is_right_ = true;
};

template <typename T>
bool decode_within(std::string_view bytes, T& message, int depth) {
  if (depth > kMostMessageDepth) return false;
  while (!bytes.empty()) {
    const std::optional<ProtobufField> field = take_field(bytes);
    if (!field) return false;
    ProtobufReader reader(*field, depth);
    T::each(message, reader);
    if (!reader.is_right()) return false;
  }
  return true;
}

template <typename T>
bool decoded(std::string_view bytes, T& message) {
  return decode_within(bytes, message, 0);
}

}  // namespace fray::iris
