// What a cluster of jobs answers, as values or exceptions: for the node's client and for those of foreign clusters. Which
// exception a code becomes is said here and nowhere else.
//
// Threading:  any thread with the GIL, which without_gil() releases.
// Ownership:  values.
// Failure:    exceptions of fray.errors; ValueError for what a foreign cluster takes for no order at all.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "gil.h"

namespace fray::python {

enum class Peer { kNode, kForeignCluster };

struct ExceptionOfCode {
  StatusCode code;
  const char* of_node;
  const char* of_foreign_cluster;
};

// A name with a module in front is none of fray.errors. A foreign cluster that does not let us in, or not in time, is as good as gone;
// a node's time limit is that of the caller's own wait.
inline constexpr ExceptionOfCode kExceptions[] = {
    {StatusCode::kInvalidArgument, "InfeasibleError", "builtins.ValueError"},
    {StatusCode::kResourceExhausted, "FrayError", "builtins.ValueError"},
    {StatusCode::kNotFound, "JobNotFoundError", "JobNotFoundError"},
    {StatusCode::kAlreadyExists, "JobExistsError", "JobExistsError"},
    {StatusCode::kTimedOut, "GetTimeoutError", "NodeDiedError"},
    {StatusCode::kUnavailable, "NodeDiedError", "NodeDiedError"},
    {StatusCode::kPermissionDenied, "FrayError", "NodeDiedError"},
    {StatusCode::kVersionMismatch, "VersionMismatchError", "VersionMismatchError"},
};

inline nanobind::object exception_of(StatusCode code, Peer peer) {
  const auto* row = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                 [code](const ExceptionOfCode& each) { return each.code == code; });
  std::string_view name = "FrayError";
  if (row != std::end(kExceptions)) name = peer == Peer::kNode ? row->of_node : row->of_foreign_cluster;
  const std::size_t dot = name.find('.');
  const std::string module(dot == std::string_view::npos ? "fray.errors" : name.substr(0, dot));
  return nanobind::module_::import_(module.c_str()).attr(std::string(name.substr(dot + 1)).c_str());
}

[[noreturn]] inline void raise(const Status& status, Peer peer = Peer::kForeignCluster) {
  // An interrupted wait has its exception set already: what the signal's handler raised.
  if (!PyErr_Occurred()) {
    const std::string& message = status.message();  // may name files, whose names are any bytes
    auto text =
        nanobind::steal(PyUnicode_DecodeFSDefaultAndSize(message.data(), static_cast<Py_ssize_t>(message.size())));
    PyErr_SetObject(exception_of(status.code(), peer).ptr(), text.ptr());
  }
  throw nanobind::python_error();
}

template <typename T>
T value_of(Result<T> result, Peer peer = Peer::kForeignCluster) {
  if (!result.is_ok()) raise(result.status(), peer);
  return std::move(result).value();
}

// Runs without the GIL.
template <typename Work>
auto without_gil(Work work) {
  GilReleased released;
  return work();
}

}  // namespace fray::python
