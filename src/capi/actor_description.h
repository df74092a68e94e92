// ActorDescription: what every handle of an actor knows, and what its worker is told, where one side is not Python.
//
//   "FRAY" version(1) language(1)  string class  string name  string namespace
//   max_task_retries(4) max_concurrency(4) max_pending_calls(8)
//
// Python's own descriptions are pickles, which begin with another byte; a handle made of one has the defaults.
// fray.backend.native.portable_description reads and writes the same.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    decode() returns nothing for bytes that are no such description.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fray.h>

namespace fray::capi {

struct ActorDescription {
  std::int32_t language = FRAY_CPP;
  std::string class_name;
  std::string name;  // empty: none
  std::string name_space;
  std::int32_t max_task_retries = 0;
  std::int32_t max_concurrency = 1;
  std::int64_t max_pending_calls = -1;

  std::string encode() const;
  static std::optional<ActorDescription> decode(std::string_view bytes);
};

}  // namespace fray::capi
