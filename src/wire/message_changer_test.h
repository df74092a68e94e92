// MessageChanger: changes one field of a message, or of what is in it, through the lists of fields. It makes the inputs of
// the fuzz targets and of the tests that hold for any message.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    none; every value that it makes is one that can be sent.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/resource_set.h"
#include "wire/codec.h"
#include "wire/value.h"

namespace fray::wire {

class MessageChanger {
 public:
  explicit MessageChanger(std::uint32_t seed) : random_(seed) {}

  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  template <ListsFields T>
  void change(T& value) {
    std::size_t fields = 0;
    T::visit(value, [&](const char*, auto&) { ++fields; });
    if (fields == 0) return;
    std::size_t left = below(fields);
    T::visit(value, [&](const char*, auto& field) {
      if (left-- == 0) change(field);
    });
  }

  void change(std::string& text) {
    if (!text.empty() && below(3) == 0) return text.resize(below(text.size()));
    text.insert(below(text.size() + 1), 1 + below(8), static_cast<char>(below(256)));
  }
  void change(bool& flag) { flag = !flag; }
  template <Plain T>
  void change(T& value) {
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    bytes[below(sizeof(T))] = static_cast<unsigned char>(below(256));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void change(T& value) {
    value = static_cast<T>(below(static_cast<std::size_t>(last_of(T())) + 1));
  }
  template <typename A, typename B>
  void change(std::pair<A, B>& pair) {
    below(2) == 0 ? change(pair.first) : change(pair.second);
  }
  template <typename T>
  void change(std::vector<T>& items) {
    if (items.empty() || below(3) == 0) items.emplace_back();
    if (below(4) == 0) return items.pop_back();
    change(items[below(items.size())]);
  }
  template <typename K, typename V, typename Less>
  void change(std::map<K, V, Less>& items) {
    std::pair<K, V> item;
    change(item.first);
    change(item.second);
    items.insert_or_assign(std::move(item.first), std::move(item.second));
  }
  void change(Value& value) {
    change(value.encoding);
    change(value.bytes);
    change(value.nested);
  }
  void change(ResourceSet& resources) { resources.set_units("CPU", below(100'000)); }

 private:
  std::minstd_rand random_;
};

}  // namespace fray::wire
