// What the extensions share that ask foreign clusters: errors as exceptions, waits without the GIL, documents as dicts.
//
// Threading:  any thread with the GIL, which without_gil() releases.
// Ownership:  values.
// Failure:    exceptions by kind: ValueError, PermissionError, TimeoutError, ConnectionError, of fray.errors
//             JobNotFoundError (a KeyError), JobExistsError and VersionMismatchError; RuntimeError otherwise.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "gil.h"
#include "model/json_text.h"

namespace fray::python {

inline nanobind::object exception_of(StatusCode code) {
  const char* module = "builtins";
  const char* name = "RuntimeError";
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kResourceExhausted:
      name = "ValueError";
      break;
    case StatusCode::kNotFound:
      module = "fray.errors", name = "JobNotFoundError";
      break;
    case StatusCode::kAlreadyExists:
      module = "fray.errors", name = "JobExistsError";
      break;
    case StatusCode::kVersionMismatch:
      module = "fray.errors", name = "VersionMismatchError";
      break;
    case StatusCode::kPermissionDenied:
      name = "PermissionError";
      break;
    case StatusCode::kTimedOut:
      name = "TimeoutError";
      break;
    case StatusCode::kUnavailable:
      name = "ConnectionError";
      break;
    default:
      break;
  }
  return nanobind::module_::import_(module).attr(name);
}

[[noreturn]] inline void raise(const Status& status) {
  // An interrupted wait has its exception set already: what the signal's handler raised.
  if (!PyErr_Occurred()) {
    PyErr_SetObject(exception_of(status.code()).ptr(), nanobind::str(status.message().c_str()).ptr());
  }
  throw nanobind::python_error();
}

template <typename T>
T value_of(Result<T> result) {
  if (!result.is_ok()) raise(result.status());
  return std::move(result).value();
}

// Runs without the GIL.
template <typename Work>
auto without_gil(Work work) {
  GilReleased released;
  return work();
}

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
