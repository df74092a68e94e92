// Codecs: the types that arguments and results may have, and how a program adds types of its own.
//
//   struct Point { double x, y; };
//   FRAY_STRUCT(Point, x, y);              // beside the struct, in its namespace; Python sees {"x": ..., "y": ...}
//
// void fray_write(fray::Encoder& out, const Date& date) { out.value(date.to_string()); }     // or two free functions,
// bool fray_read(fray::Decoder& in, Date& date) { ... }                                      // found by their argument
//
//   C++                                                    Python
//   fray::None, std::optional without a value              None
//   bool, integers, enums, floats                          bool, int, int, float
//   std::string, std::string_view, const char*             str
//   fray::Bytes (std::vector<std::byte>), span of bytes    bytes
//   std::vector, std::array, std::pair, std::tuple         list
//   std::map, std::unordered_map; FRAY_STRUCT              dict
//   fray::Array<T>, std::span<const T>, fray::Room<T>      numpy.ndarray, without a copy
//   fray::ObjectRef<T>, fray::ActorHandle<T>               the same
//   fray::Value                                            any of these
//
// Threading:  values; one thread each. Ownership:  an Encoder borrows what it encodes until the value was submitted or
// put. A Decoder borrows its view. Failure:    kWrongType for a value of another type than the requested one. The
// message names both types and the place.
#pragma once

#include <fray.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fray/array.h"
#include "fray/pack.h"
#include "fray/status.h"

namespace fray {
inline namespace v1 {

using Bytes = std::vector<std::byte>;
struct None {
  friend bool operator==(None, None) { return true; }
};

class Encoder;
class Decoder;

// Specialised for every type of arguments and results, with `static void write(Encoder&, const T&)` and
// `static bool read(Decoder&, T&)`. read() returns in.fail(...) for a value that it cannot read.
template <typename T>
struct Codec;

template <typename T>
concept HasFreeFunctions = requires(Encoder& out, Decoder& in, const T& value, T& target) {
  fray_write(out, value);
  { fray_read(in, target) } -> std::same_as<bool>;
};

template <typename T>
  requires HasFreeFunctions<T>
struct Codec<T> {
  static void write(Encoder& out, const T& value) { fray_write(out, value); }
  static bool read(Decoder& in, T& value) { return fray_read(in, value); }
};

template <typename T>
concept Writable = requires(Encoder& out, const T& value) { Codec<T>::write(out, value); };
template <typename T>
concept Readable = requires(Decoder& in, T& value) {
  { Codec<T>::read(in, value) } -> std::same_as<bool>;
};

// Encodes one value.
class Encoder {
 public:
  static constexpr std::size_t kInsideBytes = 4096;  // arrays up to this size are encoded among the other items

  Encoder() : packer_(bytes_) {}
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Encodes the whole value. None, numbers, texts and bytes have encodings of their own; texts and bytes are not
  // copied.
  template <typename T>
  void whole(const T& value) {
    if constexpr (std::is_same_v<T, None>) {
      encoding_ = FRAY_NONE;
    } else if constexpr (std::is_same_v<T, bool>) {
      encoding_ = value ? FRAY_TRUE : FRAY_FALSE;
    } else if constexpr (std::is_integral_v<T> && (sizeof(T) < 8 || std::is_signed_v<T>)) {
      number(FRAY_INT64, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      number(FRAY_FLOAT64, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      std::string_view text = value;
      outside(FRAY_UTF8, text.data(), text.size());
    } else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, std::span<const std::byte>>) {
      outside(FRAY_BYTES, value.data(), value.size());
    } else {
      Codec<T>::write(*this, value);
    }
  }
  // Makes the value of an object the argument.
  void value_of(fray_object* object) {
    encoding_ = FRAY_REF;
    refs_.push_back(object);
  }

  // Encodes one item of a list, a dict or another composite value.
  template <typename T>
  void value(const T& item) {
    Codec<T>::write(*this, item);
  }
  Packer& items() { return packer_; }
  void array(std::string_view dtype, std::vector<std::uint64_t> shape, std::span<const std::byte> bytes) {
    PackedArray packed{dtype, std::move(shape), bytes.size() > kInsideBytes, 0, {}};
    if (packed.outside) {
      packed.buffer = static_cast<std::uint32_t>(buffers_.size());
      buffers_.push_back({bytes.data(), bytes.size()});
    } else {
      packed.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    packer_.array(packed);
  }
  // Encodes an array in a buffer of its own whatever its size, as an array in the store needs.
  void array_outside(std::string_view dtype, std::vector<std::uint64_t> shape, std::span<const std::byte> bytes) {
    packer_.array({dtype, std::move(shape), true, static_cast<std::uint32_t>(buffers_.size()), {}});
    buffers_.push_back({bytes.data(), bytes.size()});
  }
  void ref(fray_object* object) { packer_.ref(place_of(object)); }
  void actor(fray_object* object, fray_bytes description) {
    packer_.actor(place_of(object), {static_cast<const char*>(description.data), description.size});
  }

  fray_value view() const {
    const bool is_outside = outside_ != nullptr;
    return {encoding_,
            is_outside ? outside_ : bytes_.data(),
            is_outside ? outside_bytes_ : bytes_.size(),
            buffers_.data(),
            buffers_.size(),
            refs_.data(),
            refs_.size()};
  }

 private:
  template <typename Number>
  void number(std::int32_t encoding, Number value) {
    encoding_ = encoding;
    bytes_.assign(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void outside(std::int32_t encoding, const void* data, std::size_t size) {
    encoding_ = encoding;
    outside_ = data;
    outside_bytes_ = size;
  }
  std::uint32_t place_of(fray_object* object) {
    refs_.push_back(object);
    return static_cast<std::uint32_t>(refs_.size() - 1);
  }

  std::int32_t encoding_ = FRAY_PORTABLE;
  std::string bytes_;
  Packer packer_;
  const void* outside_ = nullptr;
  std::size_t outside_bytes_ = 0;
  std::vector<fray_bytes> buffers_;
  std::vector<fray_object*> refs_;
};

// Reads one encoded value.
class Decoder {
 public:
  // Takes over the pin of the view.
  Decoder(fray_session* session, const fray_view& view)
      : session_(session),
        view_(view),
        unpacker_(view.encoding == FRAY_PORTABLE ? std::string_view(static_cast<const char*>(view.data), view.size)
                                                 : std::string_view()) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { fray_pin_release(view_.pin); }

  template <typename T>
  bool read(T& value) {
    return Codec<T>::read(*this, value);
  }
  Item next() {
    if (view_.encoding == FRAY_PORTABLE) return unpacker_.next();
    return simple();
  }
  // Skips the next item and returns true if that item is None.
  bool next_is_none() {
    if (view_.encoding == FRAY_PORTABLE) return unpacker_.next_is_none();
    if (begun_ || view_.encoding != FRAY_NONE) return false;
    return begun_ = true;
  }
  // Reads the next item. Returns false, and fails, if it has another kind.
  bool expect(Kind kind, Item* item) {
    *item = next();
    return item->kind == kind || fail(name_of(kind), *item);
  }
  bool fail(std::string_view expected, const Item& found) {
    return fail("expected " + std::string(expected) + ", got " + describe(found));
  }
  bool fail(std::string text) {
    if (status_.is_ok()) status_ = Status(Code::kWrongType, std::move(text));
    return false;
  }
  const Status& status() const { return status_; }

  // Returns the object of a kRef or kActor, which the view owns. Returns null, and fails, if the view has no such
  // object.
  fray_object* object(const Item& item) {
    if (item.count < view_.ref_count) return view_.refs[item.count];
    fail("a ref inside the value is missing");
    return nullptr;
  }
  bool array(const Item& item, AnyArray* out);
  fray_session* session() const { return session_; }

 private:
  static std::string describe(const Item& item) {
    std::string text = name_of(item.kind);
    if (item.kind == Kind::kArray) text += " of dtype '" + std::string(item.array.dtype) + "'";
    if (item.kind == Kind::kList || item.kind == Kind::kDict) text += " of " + std::to_string(item.count);
    return text;
  }
  Item simple();

  fray_session* session_;
  fray_view view_;
  Unpacker unpacker_;
  std::uint32_t refs_given_ = 0;
  bool begun_ = false;
  Status status_;
};

// Reads the encodings that are not portable, as items.
inline Item Decoder::simple() {
  Item item;
  if (std::exchange(begun_, true)) {
    if (view_.encoding == FRAY_REFS && refs_given_ < view_.ref_count) {
      item.kind = Kind::kRef;
      item.count = refs_given_++;
    }
    return item;
  }
  item.bytes = {static_cast<const char*>(view_.data), view_.size};
  switch (view_.encoding) {
    case FRAY_NONE:
      item.kind = Kind::kNone;
      break;
    case FRAY_TRUE:
    case FRAY_FALSE:
      item.kind = Kind::kBool;
      item.boolean = view_.encoding == FRAY_TRUE;
      break;
    case FRAY_INT64:
      if (view_.size != sizeof(item.integer)) break;
      std::memcpy(&item.integer, view_.data, sizeof(item.integer));
      item.kind = Kind::kInt;
      break;
    case FRAY_FLOAT64:
      if (view_.size != sizeof(item.real)) break;
      std::memcpy(&item.real, view_.data, sizeof(item.real));
      item.kind = Kind::kFloat;
      break;
    case FRAY_UTF8:
      item.kind = Kind::kText;
      break;
    case FRAY_BYTES:
      item.kind = Kind::kBytes;
      break;
    case FRAY_REFS:
      item.kind = Kind::kList;
      item.count = static_cast<std::uint32_t>(view_.ref_count);
      break;
    default:
      break;
  }
  return item;
}

inline bool Decoder::array(const Item& item, AnyArray* out) {
  const PackedArray& packed = item.array;
  out->dtype = packed.dtype;
  std::size_t elements = 1;
  for (std::uint64_t length : packed.shape) {
    if (length != 0 && elements > std::numeric_limits<std::size_t>::max() / length) return fail("broken bytes");
    out->shape.push_back(length);
    elements *= length;
  }
  std::size_t element_bytes = 0;
  for (char digit : packed.dtype.substr(packed.dtype.size() > 2 ? 2 : packed.dtype.size())) {
    if (digit < '0' || digit > '9' || element_bytes > 1000) return fail("an array of an unknown dtype");
    element_bytes = 10 * element_bytes + static_cast<std::size_t>(digit - '0');
  }
  if (packed.outside) {
    if (packed.buffer >= view_.buffer_count) return fail("an array's buffer is missing");
    const fray_bytes& buffer = view_.buffers[packed.buffer];
    out->bytes = {static_cast<const std::byte*>(buffer.data), buffer.size};
    fray_pin_retain(view_.pin);
    out->memory = std::shared_ptr<const void>(
        view_.pin, [](const void* pin) { fray_pin_release(static_cast<fray_pin*>(const_cast<void*>(pin))); });
  } else {
    std::shared_ptr<std::max_align_t[]> copy(new std::max_align_t[packed.bytes.size() / sizeof(std::max_align_t) + 1]);
    std::memcpy(copy.get(), packed.bytes.data(), packed.bytes.size());
    out->bytes = {reinterpret_cast<const std::byte*>(copy.get()), packed.bytes.size()};
    out->memory = std::move(copy);
  }
  if (element_bytes == 0 || out->bytes.size() % element_bytes != 0 || out->bytes.size() / element_bytes != elements) {
    return fail("an array's shape and size do not fit together");
  }
  return true;
}

// ---- The types of the language and its library ----

template <>
struct Codec<None> {
  static void write(Encoder& out, None) { out.items().none(); }
  static bool read(Decoder& in, None&) {
    Item item;
    return in.expect(Kind::kNone, &item);
  }
};

template <>
struct Codec<bool> {
  static void write(Encoder& out, bool value) { out.items().boolean(value); }
  static bool read(Decoder& in, bool& value) {
    Item item;
    if (!in.expect(Kind::kBool, &item)) return false;
    value = item.boolean;
    return true;
  }
};

template <std::integral T>
  requires(!std::is_same_v<T, bool>)
struct Codec<T> {
  static void write(Encoder& out, T value) {
    if constexpr (std::is_signed_v<T>) {
      out.items().integer(value);
    } else {
      out.items().unsigned_integer(value);
    }
  }
  static bool read(Decoder& in, T& value) {
    Item item = in.next();
    if (item.kind == Kind::kUnsigned && std::in_range<T>(item.unsigned_integer)) {
      value = static_cast<T>(item.unsigned_integer);
      return true;
    }
    if (item.kind != Kind::kInt && item.kind != Kind::kUnsigned) return in.fail("int", item);
    if (item.kind == Kind::kUnsigned || !std::in_range<T>(item.integer)) {
      return in.fail("an int does not fit into " + std::to_string(8 * sizeof(T)) + " bits" +
                     (std::is_unsigned_v<T> ? " without a sign" : ""));
    }
    value = static_cast<T>(item.integer);
    return true;
  }
};

template <typename T>
  requires std::is_enum_v<T>
struct Codec<T> {
  using Number = std::underlying_type_t<T>;
  static void write(Encoder& out, T value) { out.value(static_cast<Number>(value)); }
  static bool read(Decoder& in, T& value) {
    Number number{};
    if (!in.read(number)) return false;
    value = static_cast<T>(number);
    return true;
  }
};

template <std::floating_point T>
struct Codec<T> {
  static void write(Encoder& out, T value) { out.items().real(static_cast<double>(value)); }
  static bool read(Decoder& in, T& value) {
    Item item = in.next();
    if (item.kind != Kind::kFloat && item.kind != Kind::kInt) return in.fail("float", item);
    value = static_cast<T>(item.kind == Kind::kFloat ? item.real : static_cast<double>(item.integer));
    return true;
  }
};

template <>
struct Codec<std::string_view> {
  static void write(Encoder& out, std::string_view value) { out.items().text(value); }
};
template <>
struct Codec<const char*> {
  static void write(Encoder& out, const char* value) { out.items().text(value); }
};
template <>
struct Codec<std::string> {
  static void write(Encoder& out, const std::string& value) { out.items().text(value); }
  static bool read(Decoder& in, std::string& value) {
    Item item;
    if (!in.expect(Kind::kText, &item)) return false;
    value = item.bytes;
    return true;
  }
};

template <>
struct Codec<Bytes> {
  static void write(Encoder& out, const Bytes& value) {
    out.items().bytes({reinterpret_cast<const char*>(value.data()), value.size()});
  }
  static bool read(Decoder& in, Bytes& value) {
    Item item;
    if (!in.expect(Kind::kBytes, &item)) return false;
    const auto* begin = reinterpret_cast<const std::byte*>(item.bytes.data());
    value.assign(begin, begin + item.bytes.size());
    return true;
  }
};

template <Element T>
struct Codec<std::span<const T>> {
  static void write(Encoder& out, std::span<const T> value) {
    if constexpr (std::is_same_v<T, std::byte>) {
      out.items().bytes({reinterpret_cast<const char*>(value.data()), value.size()});
    } else {
      out.array(detail::dtype_of<T>(), {value.size()}, std::as_bytes(value));
    }
  }
};

template <>
struct Codec<AnyArray> {
  static void write(Encoder& out, const AnyArray& value) {
    out.array(value.dtype, {value.shape.begin(), value.shape.end()}, value.bytes);
  }
  static bool read(Decoder& in, AnyArray& value) {
    Item item;
    return in.expect(Kind::kArray, &item) && in.array(item, &value);
  }
};

template <Element T>
struct Codec<Array<T>> {
  static void write(Encoder& out, const Array<T>& value) {
    out.array(detail::dtype_of<T>(), {value.shape().begin(), value.shape().end()}, std::as_bytes(value.span()));
  }
  static bool read(Decoder& in, Array<T>& value) {
    AnyArray any;
    if (!in.read(any)) return false;
    Result<Array<T>> typed = any.template as<T>();
    if (!typed) return in.fail(typed.status().message());
    value = *std::move(typed);
    return true;
  }
};

template <Readable T>
struct Codec<std::optional<T>> {
  static void write(Encoder& out, const std::optional<T>& value) {
    if (value) {
      out.value(*value);
    } else {
      out.items().none();
    }
  }
  // None is known by its one byte, so nothing has to be put back.
  static bool read(Decoder& in, std::optional<T>& value) {
    if (in.next_is_none()) {
      value.reset();
      return true;
    }
    return in.read(value.emplace());
  }
};

namespace detail {

template <typename Sequence>
void write_sequence(Encoder& out, const Sequence& values) {
  out.items().list(std::size(values));
  for (const auto& value : values) out.value(value);
}

template <typename... T>
bool read_tuple(Decoder& in, T&... values) {
  Item item;
  if (!in.expect(Kind::kList, &item)) return false;
  if (item.count != sizeof...(T)) return in.fail("a list of " + std::to_string(sizeof...(T)), item);
  return (in.read(values) && ...);
}

template <typename Map>
struct MapCodec {
  static void write(Encoder& out, const Map& map) {
    out.items().dict(map.size());
    for (const auto& [key, value] : map) {
      out.value(key);
      out.value(value);
    }
  }
  static bool read(Decoder& in, Map& map) {
    Item item;
    if (!in.expect(Kind::kDict, &item)) return false;
    map.clear();
    for (std::uint32_t i = 0; i < item.count; ++i) {
      typename Map::key_type key{};
      if (!in.read(key) || !in.read(map[std::move(key)])) return false;
    }
    return true;
  }
};

}  // namespace detail

// A vector is a list. It can also be read from an array of one dimension with the same elements.
template <typename T>
  requires(!std::is_same_v<T, std::byte>)
struct Codec<std::vector<T>> {
  static void write(Encoder& out, const std::vector<T>& values)
    requires Writable<T>
  {
    out.items().list(values.size());
    for (const T& value : values) out.value(value);
  }
  static bool read(Decoder& in, std::vector<T>& values)
    requires Readable<T>
  {
    Item item = in.next();
    if constexpr (Element<T> && !std::is_same_v<T, bool>) {
      if (item.kind == Kind::kArray) return read_array(in, item, values);
    }
    if (item.kind != Kind::kList) return in.fail("list", item);
    values.clear();
    values.reserve(std::min(item.count, kMostReserved));
    for (std::uint32_t i = 0; i < item.count; ++i) {
      T value{};
      if (!in.read(value)) return false;
      values.push_back(std::move(value));
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kMostReserved = 4096;  // a count comes from the sender, and may be wrong

  static bool read_array(Decoder& in, const Item& item, std::vector<T>& values) {
    AnyArray any;
    if (!in.array(item, &any)) return false;
    if (any.shape.size() != 1) return in.fail("an array of one dimension", item);
    Result<Array<T>> typed = any.template as<T>();
    if (!typed) return in.fail(typed.status().message());
    values.assign(typed->begin(), typed->end());
    return true;
  }
};

template <typename T, std::size_t N>
struct Codec<std::array<T, N>> {
  static void write(Encoder& out, const std::array<T, N>& values)
    requires Writable<T>
  {
    detail::write_sequence(out, values);
  }
  static bool read(Decoder& in, std::array<T, N>& values)
    requires Readable<T>
  {
    return std::apply([&](auto&... each) { return detail::read_tuple(in, each...); }, values);
  }
};

template <typename... T>
struct Codec<std::tuple<T...>> {
  static void write(Encoder& out, const std::tuple<T...>& values)
    requires(Writable<T> && ...)
  {
    out.items().list(sizeof...(T));
    std::apply([&](const auto&... each) { (out.value(each), ...); }, values);
  }
  static bool read(Decoder& in, std::tuple<T...>& values)
    requires(Readable<T> && ...)
  {
    return std::apply([&](auto&... each) { return detail::read_tuple(in, each...); }, values);
  }
};

template <typename A, typename B>
struct Codec<std::pair<A, B>> {
  static void write(Encoder& out, const std::pair<A, B>& values)
    requires(Writable<A> && Writable<B>)
  {
    out.items().list(2);
    out.value(values.first);
    out.value(values.second);
  }
  static bool read(Decoder& in, std::pair<A, B>& values)
    requires(Readable<A> && Readable<B>)
  {
    return detail::read_tuple(in, values.first, values.second);
  }
};

template <typename K, typename V>
  requires(Writable<K> && Writable<V>)
struct Codec<std::map<K, V>> : detail::MapCodec<std::map<K, V>> {};
template <typename K, typename V>
  requires(Writable<K> && Writable<V>)
struct Codec<std::unordered_map<K, V>> : detail::MapCodec<std::unordered_map<K, V>> {};

// ---- Structures ----

namespace detail {

inline bool begin_fields(Decoder& in, const char* type, std::uint32_t count) {
  Item item;
  if (!in.expect(Kind::kDict, &item)) return false;
  return item.count == count || in.fail("a dict with the " + std::to_string(count) + " fields of " + type, item);
}

}  // namespace detail

}  // namespace v1
}  // namespace fray

// FRAY_FOR_EACH applies `macro(context, x)` to each further argument.
#define FRAY_PARENS ()
#define FRAY_EXPAND(...) FRAY_EXPAND3(FRAY_EXPAND3(FRAY_EXPAND3(FRAY_EXPAND3(__VA_ARGS__))))
#define FRAY_EXPAND3(...) FRAY_EXPAND2(FRAY_EXPAND2(FRAY_EXPAND2(FRAY_EXPAND2(__VA_ARGS__))))
#define FRAY_EXPAND2(...) FRAY_EXPAND1(FRAY_EXPAND1(FRAY_EXPAND1(FRAY_EXPAND1(__VA_ARGS__))))
#define FRAY_EXPAND1(...) __VA_ARGS__
#define FRAY_FOR_EACH(macro, context, ...) __VA_OPT__(FRAY_EXPAND(FRAY_FOR_EACH_STEP(macro, context, __VA_ARGS__)))
#define FRAY_FOR_EACH_STEP(macro, context, first, ...) \
  macro(context, first) __VA_OPT__(FRAY_FOR_EACH_AGAIN FRAY_PARENS(macro, context, __VA_ARGS__))
#define FRAY_FOR_EACH_AGAIN() FRAY_FOR_EACH_STEP

#define FRAY_COUNT_FIELD(type, field) +1
#define FRAY_WRITE_FIELD(type, field) \
  fray_out.items().text(#field);      \
  fray_out.value(fray_given.field);
#define FRAY_READ_FIELD(type, field)                   \
  if (fray_name.bytes == #field) {                     \
    if (!fray_in.read(fray_given.field)) return false; \
    continue;                                          \
  }

// FRAY_STRUCT(type, fields...) gives a struct a codec: it is encoded as a dict of its fields. The macro stands in the
// namespace of the struct.
#define FRAY_STRUCT(type, ...)                                                                 \
  [[maybe_unused]] inline void fray_write(::fray::Encoder& fray_out, const type& fray_given) { \
    fray_out.items().dict(0 FRAY_FOR_EACH(FRAY_COUNT_FIELD, type, __VA_ARGS__));               \
    FRAY_FOR_EACH(FRAY_WRITE_FIELD, type, __VA_ARGS__)                                         \
  }                                                                                            \
  [[maybe_unused]] inline bool fray_read(::fray::Decoder& fray_in, type& fray_given) {         \
    constexpr std::uint32_t fray_count = 0 FRAY_FOR_EACH(FRAY_COUNT_FIELD, type, __VA_ARGS__); \
    if (!::fray::detail::begin_fields(fray_in, #type, fray_count)) return false;               \
    for (std::uint32_t fray_i = 0; fray_i < fray_count; ++fray_i) {                            \
      ::fray::Item fray_name;                                                                  \
      if (!fray_in.expect(::fray::Kind::kText, &fray_name)) return false;                      \
      FRAY_FOR_EACH(FRAY_READ_FIELD, type, __VA_ARGS__)                                        \
      return fray_in.fail(#type " has no field '" + std::string(fray_name.bytes) + "'");       \
    }                                                                                          \
    return true;                                                                               \
  }                                                                                            \
  static_assert(true, "FRAY_STRUCT is followed by a semicolon")
