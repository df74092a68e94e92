// The encoding of structs that list their fields: the fields in the order of the list, without anything between them.
//
//   struct Grant {
//     std::uint32_t demand = 0;
//     ProcessId worker = 0;
//     FRAY_FIELDS(demand, worker);
//   };
//   encode(out, grant);
//   FRAY_ASSIGN_OR_RETURN(Grant grant, decode<Grant>(body));
//
// A number or an id travels as its bytes, a bool and an enum as one byte, a string as a length of 32 bits and its
// bytes, a list or a map as a count of 32 bits and its items. There are no tags and no padding, and fields cannot be
// left out: client and node are of one release (Hello), and what a release changes, both change. A type with a format
// of its own has an overload of encode() and decode(): Value, ResourceSet. wire/messages.h has all messages.
//
// Threading:  values.
// Ownership:  a decoded message owns its strings.
// Failure:    a reader fails on bytes that are too short, and on a number that is none of its enum's; then, and when bytes
//             are left, decode() returns kCorruption. The connection that they came from must then be closed.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/status.h"
#include "wire/bytes.h"

namespace fray::wire {

using fray::ListsFields;

// Travels as its bytes in memory. It must have no padding, whose bytes are undefined: they would carry memory of this
// process to another one, and equal values would be encoded differently.
template <typename T>
concept Plain =
    !ListsFields<T> && !std::is_enum_v<T> && !std::is_same_v<T, bool> && !std::is_pointer_v<T> &&
    std::is_trivially_copyable_v<T> && (std::is_arithmetic_v<T> || std::has_unique_object_representations_v<T>);

// "Grant" of fray::wire::Grant.
template <typename T>
constexpr std::string_view name_of_type() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  name = name.substr(0, name.find_first_of(";]"));
  const std::size_t scope = name.rfind(':');
  return scope == std::string_view::npos ? name : name.substr(scope + 1);
}

Status misfit(std::string_view name);

// ---- Writing

inline void encode(ByteWriter& out, const std::string& text) { out.put_string(text); }

template <Plain T>
void encode(ByteWriter& out, const T& value) {
  out.put(value);
}

template <typename T>
  requires std::is_enum_v<T> || std::is_same_v<T, bool>
void encode(ByteWriter& out, T value) {
  static_assert(sizeof(T) == 1);
  out.put(static_cast<std::uint8_t>(value));
}

template <ListsFields T>
void encode(ByteWriter& out, const T& value) {
  T::visit(value, [&out](const char*, const auto& field) { encode(out, field); });
}

template <typename A, typename B>
void encode(ByteWriter& out, const std::pair<A, B>& pair) {
  encode(out, pair.first);
  encode(out, pair.second);
}

template <typename Items>
void encode_items(ByteWriter& out, const Items& items) {
  out.put(static_cast<std::uint32_t>(items.size()));
  for (const auto& item : items) encode(out, item);
}

template <typename T>
void encode(ByteWriter& out, const std::vector<T>& items) {
  if constexpr (Plain<T>) {
    out.put(static_cast<std::uint32_t>(items.size()));
    out.put_raw({reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)});
  } else {
    encode_items(out, items);
  }
}

template <typename K, typename V, typename Less>
void encode(ByteWriter& out, const std::map<K, V, Less>& items) {
  encode_items(out, items);
}

template <typename Message>
std::string encoded(const Message& message) {
  std::string bytes;
  ByteWriter out(bytes);
  encode(out, message);
  return bytes;
}

// ---- Reading

inline void decode(ByteReader& in, std::string& text) { text = in.get_string(); }

template <Plain T>
void decode(ByteReader& in, T& value) {
  value = in.get<T>();
}

inline void decode(ByteReader& in, bool& value) { value = in.get<std::uint8_t>() != 0; }

// last_of(E) is the last value that an enum has.
template <typename T>
  requires std::is_enum_v<T>
void decode(ByteReader& in, T& value) {
  value = in.get<T>();
  if (value > last_of(T())) in.fail();
}

template <ListsFields T>
void decode(ByteReader& in, T& value) {
  T::visit(value, [&in](const char*, auto& field) { decode(in, field); });
}

template <typename A, typename B>
void decode(ByteReader& in, std::pair<A, B>& pair) {
  decode(in, pair.first);
  decode(in, pair.second);
}

// Memory is taken as items are read, so a count that promises more items than there are bytes takes none. Items that
// travel as their bytes are copied at once.
template <typename T>
void decode(ByteReader& in, std::vector<T>& items) {
  if constexpr (Plain<T>) {
    items.resize(in.get_count(sizeof(T)));
    const std::string_view bytes = in.get_raw(items.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(items.data(), bytes.data(), bytes.size());
  } else {
    for (std::uint32_t left = in.get_count(1); left > 0 && in.ok(); --left) decode(in, items.emplace_back());
  }
}

template <typename K, typename V, typename Less>
void decode(ByteReader& in, std::map<K, V, Less>& items) {
  for (std::uint32_t left = in.get_count(1); left > 0 && in.ok(); --left) {
    std::pair<K, V> item;
    decode(in, item);
    items.insert_or_assign(std::move(item.first), std::move(item.second));
  }
}

// The message that these bytes are; kCorruption when they are too few, too many, or no such message.
template <ListsFields Message>
Result<Message> decode(std::string_view body) {
  ByteReader in(body);
  Message message;
  decode(in, message);
  if (in.done()) return message;
  return misfit(name_of_type<Message>());
}

}  // namespace fray::wire
