// The names of an enum's values, from the enum itself, for what shows them: reference pages, and the enums of Python.
//
//   constexpr Role last_of(Role) { return Role::kObserver; }       // beside the enum: its last value
//   for (auto [value, name] : enumerators<Role>()) ...             // kDriver, "kDriver"; ...
//
// Threading:  pure.
// Ownership:  names are constants of the program.
// Failure:    none; numbers that no enumerator has are left out.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace fray {

// "kDriver"; of a number that is no enumerator: how the compiler writes that, which has a bracket in it.
template <auto kValue>
constexpr std::string_view enumerator_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("kValue = ") + 9);
  name = name.substr(0, name.find_first_of(";]"));
  if (name.find('(') != std::string_view::npos) return name;
  return name.substr(name.rfind(':') + 1);
}

template <typename Enum>
std::vector<std::pair<Enum, std::string_view>> enumerators() {
  std::vector<std::pair<Enum, std::string_view>> found;
  auto add = [&found]<std::size_t kNumber>() {
    constexpr auto kValue = static_cast<Enum>(kNumber);
    if (enumerator_name<kValue>().find('(') == std::string_view::npos)
      found.emplace_back(kValue, enumerator_name<kValue>());
  };
  [&add]<std::size_t... kNumbers>(std::index_sequence<kNumbers...>) {
    (add.template operator()<kNumbers>(), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(last_of(Enum())) + 1>());
  return found;
}

}  // namespace fray
