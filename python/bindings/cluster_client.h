// What the extensions share that ask foreign clusters: documents as dicts, and time limits.
//
// Threading:  any thread with the GIL.
// Ownership:  values.
// Failure:    the exceptions of cluster_answers.h.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "cluster_answers.h"
#include "model/json_text.h"

namespace fray::python {

inline nanobind::object as_python(const nlohmann::json& document) {
  const std::string text = json_text(document);
  return nanobind::module_::import_("json").attr("loads")(text);
}

inline nlohmann::json as_json(nanobind::handle object) {
  const auto text = nanobind::cast<std::string>(nanobind::module_::import_("json").attr("dumps")(object));
  nlohmann::json document = parse_json(text);
  if (document.is_discarded()) {
    throw nanobind::value_error(
        fmt::format("lists and dicts lie in each other more than {} levels deep", kMostJsonDepth).c_str());
  }
  return document;
}

// Of seconds above 0.
inline std::chrono::milliseconds time_limit(double seconds) {
  if (!(seconds > 0 && seconds < 1e6)) {
    raise(Status(StatusCode::kInvalidArgument, "timeout must be a number of seconds above 0"));
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace fray::python
