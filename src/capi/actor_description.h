// ActorDescription: describes an actor to its handles and its worker, where one of them is not Python.
//
// As bytes it is "FRAY", a version of one byte, and the fields in the order of visit(), encoded as those of messages
// (wire/codec.h). Python's own descriptions are pickles, which begin with another byte; a handle made of one has the
// defaults. python/fray/backend/native/actors.py reads and writes the same.
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

#include "base/fields.h"

namespace fray::capi {

struct ActorDescription {
  std::uint8_t language = FRAY_CPP;
  std::string class_name;
  std::string name;  // empty: none
  std::string name_space;
  std::int32_t max_task_retries = 0;
  std::int32_t max_concurrency = 1;
  std::int64_t max_pending_calls = -1;

  FRAY_FIELDS(language, class_name, name, name_space, max_task_retries, max_concurrency, max_pending_calls);

  std::string encode() const;
  static std::optional<ActorDescription> decode(std::string_view bytes);
};

}  // namespace fray::capi
