// ListsFields: a struct that lists its fields with their names, once for all code that needs them:
// bytes on a socket (wire/codec.h), a file in JSON (model/json_fields.h), tests and documentation.
//
//   struct Grant {
//     std::uint32_t demand = 0;
//     static void visit(auto& grant, auto&& field) { field("demand", grant.demand); }
//   };
//
// Threading:  values.
// Ownership:  none.
// Failure:    none; a type without such a list does not compile where one is needed.
#pragma once

namespace fray {

template <typename T>
concept ListsFields = requires(T& value) { T::visit(value, [](const char*, auto&) {}); };

// The name of a field that files of earlier releases do not have.
struct LaterField {
  const char* name;

  operator const char*() const { return name; }  // NOLINT: it stands for its name
};

}  // namespace fray
