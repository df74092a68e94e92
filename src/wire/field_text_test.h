// FieldText: what a page of docs/formats/ says of the fields of a struct, from its list of fields.
//
//   FieldText fields;
//   fields.of<Grant>();                      // "demand: u32, worker: u32, pid: i32"
//   fields.parts() + fields.enums();         // rows of what these fields are made of
//
// Threading:  one thread.
// Ownership:  owns its texts.
// Failure:    none.
#pragma once

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum_names.h"
#include "wire/codec.h"

namespace fray::wire {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsPair : std::false_type {};
template <typename A, typename B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename K, typename V, typename L>
struct IsMap<std::map<K, V, L>> : std::true_type {};

class FieldText {
 public:
  template <ListsFields T>
  std::string of() {
    std::string fields;
    T value;
    T::visit(value, [&](const char* name, const auto& field) {
      fields +=
          fmt::format("{}{}: {}", fields.empty() ? "" : ", ", name, type_text<std::remove_cvref_t<decltype(field)>>());
    });
    return fields;
  }

  template <typename T>
  void note_enum() {
    if (!known_.emplace(name_of_type<T>()).second) return;
    std::string values;
    for (const auto& [value, name] : enumerators<T>()) {
      values += fmt::format("{}{} {}", values.empty() ? "" : ", ", static_cast<int>(value), name.substr(1));
    }
    enums_ += fmt::format("| {} | {} |\n", name_of_type<T>(), values);
  }

  // The structs inside those that were asked for, and the enums.
  const std::string& parts() const { return parts_; }
  const std::string& enums() const { return enums_; }

 private:
  template <typename T>
  std::string type_text() {
    if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "text";
    } else if constexpr (std::is_enum_v<T>) {
      note_enum<T>();
      return std::string(name_of_type<T>());
    } else if constexpr (std::is_floating_point_v<T>) {
      return fmt::format("f{}", 8 * sizeof(T));
    } else if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format("{}{}", std::is_signed_v<T> ? 'i' : 'u', 8 * sizeof(T));
    } else if constexpr (IsVector<T>::value) {
      return "list of " + type_text<typename T::value_type>();
    } else if constexpr (IsPair<T>::value) {
      return fmt::format("({}, {})", type_text<typename T::first_type>(), type_text<typename T::second_type>());
    } else if constexpr (IsMap<T>::value) {
      return fmt::format("map of {} to {}", type_text<typename T::key_type>(), type_text<typename T::mapped_type>());
    } else {
      if constexpr (ListsFields<T>) note_part<T>();
      return std::string(name_of_type<T>());
    }
  }

  template <typename T>
  void note_part() {
    if (!known_.emplace(name_of_type<T>()).second) return;
    const std::string fields = of<T>();  // and the structs inside it before it
    parts_ += fmt::format("| {} | {} |\n", name_of_type<T>(), fields);
  }

  std::set<std::string, std::less<>> known_;
  std::string parts_;
  std::string enums_;
};

// A page is what its lists say; FRAY_WRITE_PAGES=1 writes it anew.
inline void expect_page(const std::string& name, const std::string& page) {
  const std::string path = std::string(FRAY_SOURCE_DIR) + "/docs/formats/" + name;
  if (std::getenv("FRAY_WRITE_PAGES") != nullptr) std::ofstream(path, std::ios::binary) << page;
  std::stringstream kept;
  kept << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(kept.str(), page) << "write it anew: FRAY_WRITE_PAGES=1, and run this test";
}

}  // namespace fray::wire
