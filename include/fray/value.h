// Value: a value of one of the types that all languages share, for code that learns the type when it runs.
//
//   fray::Value config = fray::get(ref).value_or_throw();
//   int width = config.at("width").to<int>().value_or_throw();
//
// Threading:  a value.
// Ownership:  owns its content, and shares the memory of arrays.
// Failure:    to<T>() returns kWrongType for a value of another type. at() returns None for a missing key or index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fray/codec.h"

namespace fray {
inline namespace v1 {

struct Value {
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<Value, Value>>;  // in the order of the Python dict
  using Variant =
      std::variant<None, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, List, Dict, AnyArray>;

  Variant value;

  Value() = default;
  Value(bool given) : value(given) {}                    // NOLINT: implicit by design, like those below
  Value(double given) : value(given) {}                  // NOLINT
  Value(const char* text) : value(std::string(text)) {}  // NOLINT
  Value(std::string text) : value(std::move(text)) {}    // NOLINT
  Value(Bytes bytes) : value(std::move(bytes)) {}        // NOLINT
  Value(List list) : value(std::move(list)) {}           // NOLINT
  Value(Dict dict) : value(std::move(dict)) {}           // NOLINT
  Value(AnyArray array) : value(std::move(array)) {}     // NOLINT
  template <std::integral T>
    requires(!std::is_same_v<T, bool>)
  Value(T given) {  // NOLINT
    if constexpr (std::is_signed_v<T>) {
      value = static_cast<std::int64_t>(given);
    } else if (std::in_range<std::int64_t>(given)) {
      value = static_cast<std::int64_t>(given);
    } else {
      value = static_cast<std::uint64_t>(given);
    }
  }

  bool is_none() const { return std::holds_alternative<None>(value); }
  // Returns the value of a key, or None if this is no dict or has no such key.
  const Value& at(std::string_view key) const {
    if (const Dict* dict = std::get_if<Dict>(&value)) {
      for (const auto& [name, item] : *dict) {
        const std::string* text = std::get_if<std::string>(&name.value);
        if (text != nullptr && *text == key) return item;
      }
    }
    return none();
  }
  // Returns an item of a list, or None if this is no list or has no such index.
  const Value& at(std::size_t index) const {
    const List* list = std::get_if<List>(&value);
    return list != nullptr && index < list->size() ? (*list)[index] : none();
  }
  // Returns the number of items of a list or a dict, and 0 for any other value.
  std::size_t size() const {
    if (const List* list = std::get_if<List>(&value)) return list->size();
    if (const Dict* dict = std::get_if<Dict>(&value)) return dict->size();
    return 0;
  }
  // Returns the value as a T, which may be any type that has a codec.
  template <Readable T>
  Result<T> to() const;

 private:
  static const Value& none() {
    static const Value kNone;
    return kNone;
  }
};

template <>
struct Codec<Value> {
  static constexpr int kDeepest = 200;

  static void write(Encoder& out, const Value& value) {
    std::visit([&](const auto& held) { write_one(out, held); }, value.value);
  }
  static bool read(Decoder& in, Value& value) { return read(in, value, 0); }

 private:
  template <typename T>
  static void write_one(Encoder& out, const T& held) {
    if constexpr (std::is_same_v<T, Value::Dict>) {
      out.items().dict(held.size());
      for (const auto& [key, item] : held) {
        out.value(key);
        out.value(item);
      }
    } else {
      out.value(held);
    }
  }
  static bool read(Decoder& in, Value& value, int depth) {
    if (depth > kDeepest) return in.fail("the value is nested too deeply");
    Item item = in.next();
    switch (item.kind) {
      case Kind::kNone:
        value.value = None();
        return true;
      case Kind::kBool:
        value.value = item.boolean;
        return true;
      case Kind::kInt:
        value.value = item.integer;
        return true;
      case Kind::kUnsigned:
        value.value = item.unsigned_integer;
        return true;
      case Kind::kFloat:
        value.value = item.real;
        return true;
      case Kind::kText:
        value.value = std::string(item.bytes);
        return true;
      case Kind::kBytes: {
        const auto* begin = reinterpret_cast<const std::byte*>(item.bytes.data());
        value.value = Bytes(begin, begin + item.bytes.size());
        return true;
      }
      case Kind::kList: {
        Value::List list;
        for (std::uint32_t i = 0; i < item.count; ++i) {
          if (!read(in, list.emplace_back(), depth + 1)) return false;
        }
        value.value = std::move(list);
        return true;
      }
      case Kind::kDict: {
        Value::Dict dict;
        for (std::uint32_t i = 0; i < item.count; ++i) {
          auto& [key, each] = dict.emplace_back();
          if (!read(in, key, depth + 1) || !read(in, each, depth + 1)) return false;
        }
        value.value = std::move(dict);
        return true;
      }
      case Kind::kArray: {
        AnyArray array;
        if (!in.array(item, &array)) return false;
        value.value = std::move(array);
        return true;
      }
      default:
        return in.fail("a value", item);
    }
  }
};

template <Readable T>
Result<T> Value::to() const {
  Encoder out;
  out.value(*this);
  const fray_value packed = out.view();
  fray_view view{};
  view.encoding = packed.encoding;
  view.data = packed.data;
  view.size = packed.size;
  view.buffers = packed.buffers;
  view.buffer_count = packed.buffer_count;
  Decoder in(nullptr, view);
  T read{};
  if (!in.read(read)) return in.status();
  return read;
}

}  // namespace v1
}  // namespace fray
