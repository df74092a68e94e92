// JobClient: asking a node about jobs. fray.backend.native.jobs makes a cluster of it.
//
// Threading:  any thread with the GIL, which calls that wait release; signals of the main thread are looked at meanwhile.
// Ownership:  Python owns the client, and with it its connections.
// Failure:    errors of the engine become those of fray.backend.native.job_failures.
#include "client/job_client.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python_client.h"

namespace nb = nanobind;

namespace fray::python {

namespace {

using client::JobClient;

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

std::vector<std::string> texts_of(const std::vector<nb::bytes>& list) {
  std::vector<std::string> texts;
  for (const nb::bytes& each : list) texts.push_back(text_of(each));
  return texts;
}

[[noreturn]] void raise(const Status& status) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::object make = nb::module_::import_("fray.backend.native.job_failures").attr("job_error");
  nb::object error = make(static_cast<int>(status.code()), nb::steal(text_of_message(status.message())));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

template <typename T>
T taken(Result<T> result) {
  if (!result.is_ok()) raise(result.status());
  return std::move(result).value();
}

// Runs `call` without the GIL.
template <typename Call>
auto without_gil(Call call) {
  auto result = [&] {
    GilReleased released;
    return call();
  }();
  return taken(std::move(result));
}

// A call of the main thread gives up when a signal's handler raises; all give up at the deadline.
door::Patience patience_of(std::optional<double> seconds = {}) {
  if (!seconds) return {{}, signal_came};
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*seconds));
  return {deadline, signal_came};
}

ResourceSet resources_of(const nb::dict& amounts) {
  ResourceSet resources;
  for (auto [name, amount] : amounts) {
    Status set = resources.set(nb::cast<std::string>(name), nb::cast<double>(amount));
    if (!set.is_ok()) raise(set);
  }
  return resources;
}

std::string submit(JobClient& self, const std::string& name, const std::vector<nb::bytes>& command,
                   const nb::bytes& folder, const std::vector<nb::bytes>& environment, const nb::bytes& call,
                   std::uint32_t replicas, const nb::dict& resources, std::uint32_t max_failures,
                   std::uint32_t max_preemptions, std::uint32_t max_processes, std::uint32_t max_files,
                   std::int32_t priority, double deadline_seconds, std::optional<double> grace_seconds,
                   const std::string& runtime_env) {
  JobSpec spec;
  spec.name = name;
  spec.command = texts_of(command);
  spec.folder = text_of(folder);
  for (std::size_t i = 0; i + 1 < environment.size(); i += 2) {
    spec.environment.emplace_back(text_of(environment[i]), text_of(environment[i + 1]));
  }
  spec.call = text_of(call);
  spec.replicas = replicas;
  spec.resources = resources_of(resources);
  spec.max_failures = max_failures;
  spec.max_preemptions = max_preemptions;
  spec.max_processes = max_processes;
  spec.max_files = max_files;
  spec.priority = priority;
  spec.deadline_seconds = deadline_seconds;
  spec.grace_seconds = grace_seconds.value_or(spec.grace_seconds);
  spec.runtime_env = runtime_env;
  return without_gil([&] { return self.submit(std::move(spec), patience_of()); });
}

using Ids = std::vector<std::string>;
using Cursor = std::tuple<std::uint32_t, int, std::uint64_t>;  // replica, stream, offset

nb::tuple open_log(JobClient& self, const std::string& id, std::uint32_t attempt, std::optional<std::uint64_t> tail) {
  wire::OpenJobLog request;
  request.id = id;
  request.attempt = attempt;
  if (tail) request.tail_lines = *tail;
  const wire::JobLogOpened opened = without_gil([&] { return self.open_log(request, patience_of()); });
  std::vector<Cursor> cursors;
  for (const wire::LogCursor& each : opened.cursors) cursors.emplace_back(each.replica, each.stream, each.offset);
  return nb::make_tuple(opened.id, opened.attempt, cursors);
}

nb::tuple read_log(JobClient& self, const std::string& id, std::uint32_t attempt, const std::vector<Cursor>& cursors,
                   bool wait, std::optional<double> timeout) {
  wire::ReadJobLog request;
  request.id = id;
  request.attempt = attempt;
  request.wait = wait;
  for (const auto& [replica, stream, offset] : cursors) {
    request.cursors.push_back({replica, static_cast<std::uint8_t>(stream), offset});
  }
  const wire::JobLogPieces read = without_gil([&] { return self.read_log(request, patience_of(timeout)); });
  nb::list pieces;
  for (const wire::LogPiece& piece : read.pieces) {
    pieces.append(nb::make_tuple(piece.at.replica, static_cast<int>(piece.at.stream), piece.at.offset, piece.missing,
                                 nb::bytes(piece.bytes.data(), piece.bytes.size())));
  }
  return nb::make_tuple(read.ended, read.job_ended, read.newest, pieces);
}

}  // namespace

int add_jobs(PyObject* module_object) {
  nb::module_ module = nb::borrow<nb::module_>(module_object);
  nb::class_<JobClient>(module, "JobClient", "Asks the node at a socket about jobs.")
      .def(
          "__init__", [](JobClient* self, const std::string& socket) { new (self) JobClient(socket); },
          nb::arg("socket"))
      .def("submit", submit, nb::arg("name"), nb::arg("command"), nb::arg("folder"), nb::arg("environment"),
           nb::arg("call"), nb::arg("replicas"), nb::arg("resources"), nb::arg("max_failures"),
           nb::arg("max_preemptions"), nb::arg("max_processes"), nb::arg("max_files"), nb::arg("priority"),
           nb::arg("deadline_seconds"), nb::arg("grace_seconds").none(), nb::arg("runtime_env"),
           "Starts a job; returns it as JSON.")
      .def(
          "get",
          [](JobClient& self, Ids ids) { return without_gil([&] { return self.get(std::move(ids), patience_of()); }); },
          nb::arg("ids"), "Jobs as a JSON array; all of them for no ids.")
      .def(
          "wait",
          [](JobClient& self, Ids ids, std::optional<double> timeout) {
            return without_gil([&] { return self.wait(std::move(ids), patience_of(timeout)); });
          },
          nb::arg("ids"), nb::arg("timeout") = nb::none(), "Waits for the end of all.")
      .def(
          "stop",
          [](JobClient& self, Ids ids) {
            return without_gil([&] { return self.stop(std::move(ids), patience_of()); });
          },
          nb::arg("ids"), "Asks them to end.")
      .def(
          "remove",
          [](JobClient& self, Ids ids) {
            return without_gil([&] { return self.remove(std::move(ids), patience_of()); });
          },
          nb::arg("ids"), "Forgets jobs that have ended.")
      .def("open_log", open_log, nb::arg("id"), nb::arg("attempt") = 0, nb::arg("tail") = nb::none(),
           "(id, attempt, [(replica, stream, offset)])")
      .def("read_log", read_log, nb::arg("id"), nb::arg("attempt"), nb::arg("cursors"), nb::arg("wait"),
           nb::arg("timeout") = nb::none(),
           "(ended, job ended, newest attempt, [(replica, stream, offset, missing, bytes)])");
  return 0;
}

}  // namespace fray::python
