// Members: takes the members of a client's JSON object one by one; a member that is left at the end is unknown.
//
// Threading:  one thread.
// Ownership:  owns the document.
// Failure:    kInvalidArgument names the key, what it must be and what type it has; values are in no message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "model/json_text.h"

namespace fray {

inline Status wrong(std::string what) { return Status(StatusCode::kInvalidArgument, std::move(what)); }

inline Status wrong_type(const char* key, const char* expected, const nlohmann::json& given) {
  return wrong(fmt::format("{} must be {}, but is of type {}", key, expected, given.type_name()));
}

class Members {
 public:
  // In answers the document of a request is nested more deeply, and must still be readable.
  static constexpr std::size_t kMostDepth = kMostJsonDepth / 2;

  explicit Members(nlohmann::json document) : document_(std::move(document)) {}

  static Result<Members> parse(std::string_view body) {
    if (nests_deeper_than(body, kMostDepth)) {
      return wrong(fmt::format("the body's lists and objects lie in each other more than {} levels deep", kMostDepth));
    }
    nlohmann::json document = parse_json(body);
    if (!document.is_object()) return wrong("the body must be a JSON object");
    return Members(std::move(document));
  }

  nlohmann::json take(const char* key) {
    taken_ += fmt::format("{}{}", taken_.empty() ? "" : ", ", key);
    if (!document_.contains(key)) return nullptr;
    nlohmann::json value = std::move(document_[key]);
    document_.erase(key);
    return value;
  }
  bool has(const char* key) const { return document_.contains(key) && !document_[key].is_null(); }
  // Accepts a key that errors do not list among the known ones.
  void take_silently(const char* key) { document_.erase(key); }
  Status text(const char* key, std::string* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_string()) return wrong_type(key, "a text", value);
    value.get_to(*place);
    return Status::ok();
  }
  Status texts(const char* key, std::map<std::string, std::string>* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_object()) return wrong_type(key, "an object of texts", value);
    for (const auto& [name, each] : value.items()) {
      if (!each.is_string()) return wrong_type(fmt::format("{} of {}", name, key).c_str(), "a text", each);
      (*place)[name] = each.get<std::string>();
    }
    return Status::ok();
  }
  Status amounts(const char* key, std::map<std::string, double>* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_object()) return wrong_type(key, "an object of amounts", value);
    for (const auto& [name, each] : value.items()) {
      if (!each.is_number()) return wrong_type(fmt::format("{} of {}", name, key).c_str(), "a number", each);
      (*place)[name] = each.get<double>();
    }
    return Status::ok();
  }
  Status number(const char* key, double* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_number()) return wrong_type(key, "a number", value);
    value.get_to(*place);
    return Status::ok();
  }
  // A whole number from 1 on.
  Status count(const char* key, std::uint32_t* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > UINT32_MAX) {
      return wrong(fmt::format("{} must be a whole number from 1 on", key));
    }
    value.get_to(*place);
    return Status::ok();
  }
  Status text_list(const char* key, std::vector<std::string>* place) {
    const nlohmann::json value = take(key);
    if (value.is_null()) return Status::ok();
    if (!value.is_array()) return wrong_type(key, "a list of texts", value);
    for (const auto& each : value) {
      if (!each.is_string()) return wrong_type(fmt::format("each item of {}", key).c_str(), "a text", each);
      place->push_back(each.get<std::string>());
    }
    return Status::ok();
  }
  // To be called when all known keys were taken; refuses the rest.
  Status end() const {
    if (document_.empty()) return Status::ok();
    return wrong(fmt::format("there is no key \"{}\"; the keys are {}", document_.begin().key(), taken_));
  }

 private:
  nlohmann::json document_;
  std::string taken_;
};

}  // namespace fray
