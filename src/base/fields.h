// FRAY_FIELDS: gives a struct a list of its fields with their names, once for all code that needs them: bytes on a
// socket (wire/codec.h), a file in JSON (model/json_fields.h), tests and documentation.
//
//   struct Grant {
//     std::uint32_t demand = 0;
//     ProcessId worker = 0;
//     FRAY_FIELDS(demand, worker);
//   };
//   Grant::visit(grant, [](const char* name, auto& value) { ... });
//
// A struct whose fields need more than their names, such as LaterField, defines visit() by hand.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none; a type without such a list does not compile where one is needed.
#pragma once

#include <array>
#include <cstddef>

#define FRAY_FIELDS(...)                                                                 \
  void give_fields(auto&& fray_take) { fray_take(__VA_ARGS__); }                         \
  void give_fields(auto&& fray_take) const { fray_take(__VA_ARGS__); }                   \
  static void visit(auto& owner, auto&& field) {                                         \
    static constexpr ::fray::FieldNames kNames(#__VA_ARGS__);                            \
    std::size_t number = 0;                                                              \
    owner.give_fields([&](auto&... values) { (field(kNames[number++], values), ...); }); \
  }                                                                                      \
  static_assert(true)

namespace fray {

// The names in a text such as "demand, worker", which the preprocessor makes of the arguments of FRAY_FIELDS.
template <std::size_t kBytes>
class FieldNames {
 public:
  explicit consteval FieldNames(const char (&text)[kBytes]) {
    std::size_t count = 1;  // the first name begins at 0
    for (std::size_t at = 0; at < kBytes; ++at) {
      const bool between = text[at] == ',' || text[at] == ' ';
      text_[at] = between ? '\0' : text[at];
      if (text[at] == ',') begins_[count++] = at + (text[at + 1] == ' ' ? 2 : 1);
    }
  }
  constexpr const char* operator[](std::size_t number) const { return text_.data() + begins_[number]; }

 private:
  std::array<char, kBytes> text_{};
  std::array<std::size_t, (kBytes + 1) / 2> begins_{};  // a name and a comma have two characters or more
};

template <typename T>
concept ListsFields = requires(T& value) { T::visit(value, [](const char*, auto&) {}); };

// The name of a field that files of earlier releases do not have.
struct LaterField {
  const char* name;

  operator const char*() const { return name; }  // NOLINT: it stands for its name
};

}  // namespace fray
