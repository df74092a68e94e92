// Structs that list their fields as JSON objects: files that the engine writes for itself, of this release or an earlier one.
//
//   struct Report {
//     std::int64_t ended_unix_ns = 0;
//     std::string memory;
//     static void visit(auto& report, auto&& field) {
//       field("ended_unix_ns", report.ended_unix_ns);
//       field(LaterField{"memory"}, report.memory);
//     }
//   };
//   const std::string text = fields_text(report);
//   FRAY_ASSIGN_OR_RETURN(Report report, read_fields<Report>(text, "this is no report"));
//
// A field that is listed as a LaterField, or with what it means (JobField), may be missing in the text and then keeps its
// default. Every other field must be there, and keys that no field has are passed over.
//
// Threading:  values.
// Ownership:  values.
// Failure:    kCorruption, with the caller's words, for a text that is no such object.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/status.h"
#include "model/json_text.h"

// Found by nlohmann::json for fields, lists and documents of such structs.
template <fray::ListsFields T>
struct nlohmann::adl_serializer<T, void> {
  static void to_json(json& document, const T& value) {
    document = json::object();
    T::visit(value, [&document](const char* name, const auto& field) { document[name] = field; });
  }
  static void from_json(const json& document, T& value) {
    T::visit(value, [&document](const auto& name, auto& field) {
      constexpr bool is_required = std::is_same_v<std::decay_t<decltype(name)>, const char*>;
      auto found = document.find(static_cast<const char*>(name));
      if (found != document.end()) {
        found->get_to(field);
      } else if (is_required) {
        throw json::out_of_range::create(403, std::string("no ") + static_cast<const char*>(name), nullptr);
      }
    });
  }
};

namespace fray {

template <ListsFields T>
std::string fields_text(const T& value) {
  return json_text(nlohmann::json(value));
}

template <ListsFields T>
Result<T> read_fields(std::string_view text, std::string otherwise) {
  const nlohmann::json document = parse_json(text);
  try {
    if (document.is_object()) return document.get<T>();
  } catch (const nlohmann::json::exception&) {
  }
  return Status(StatusCode::kCorruption, std::move(otherwise));
}

}  // namespace fray
