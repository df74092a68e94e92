// fray._ray_jobs: a Ray cluster's jobs for Python (see src/ray/jobs.h). Documents travel as dicts.
//
// Threading:  any thread; the GIL is released during requests, and Ctrl-C interrupts them.
// Ownership:  Python owns the client and the logs; a log holds its client.
// Failure:    the exceptions of cluster_answers.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cluster/command_text.h"
#include "cluster_client.h"
#include "one_interpreter.h"
#include "ray/jobs.h"
#include "ray/log_follower.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace fray::python {

namespace {

using nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

class RayJobs {
 public:
  RayJobs(const std::string& address, std::optional<std::string> token, double timeout, const std::string& ca_file,
          bool verify)
      : jobs_(endpoint(address, std::move(token), timeout, ca_file, verify)) {}

  std::string address() const { return jobs_.endpoint().address.text(); }
  std::string version() const {
    return value_of(without_gil([&] { return jobs_.check_version(); }));
  }

  std::string submit(const nb::object& entrypoint, const std::string& submission_id, const nb::dict& runtime_env,
                     const std::map<std::string, std::string>& metadata, std::optional<double> cpus,
                     std::optional<double> gpus, std::optional<std::uint64_t> memory_bytes,
                     const std::map<std::string, double>& resources,
                     const std::map<std::string, std::string>& label_selector) const {
    ray::JobRequest request;
    if (nb::isinstance<nb::str>(entrypoint)) {
      request.entrypoint = nb::cast<std::string>(entrypoint);
    } else {
      request.entrypoint = value_of(cluster::command_text(nb::cast<std::vector<std::string>>(entrypoint)));
    }
    request.submission_id = submission_id;
    request.runtime_env = as_json(runtime_env);
    request.metadata = metadata;
    request.cpus = cpus;
    request.gpus = gpus;
    request.memory_bytes = memory_bytes;
    request.resources = resources;
    request.label_selector = label_selector;
    return value_of(without_gil([&] { return jobs_.submit(std::move(request)); }));
  }

  nb::object get(const std::string& id) const {
    return as_python(value_of(without_gil([&] { return jobs_.get(id); })).to_json());
  }
  std::string status(const std::string& id) const {
    return std::string(ray::to_string(value_of(without_gil([&] { return jobs_.get(id); })).status));
  }
  nb::object list() const {
    json documents = json::array();
    for (const ray::JobDetails& job : value_of(without_gil([&] { return jobs_.list(); }))) {
      documents.push_back(job.to_json());
    }
    return as_python(documents);
  }
  std::vector<ray::NodeResources> nodes() const {
    return value_of(without_gil([&] { return jobs_.nodes(); }));
  }
  bool stop(const std::string& id) const {
    return value_of(without_gil([&] { return jobs_.stop(id); }));
  }
  bool remove(const std::string& id) const {
    return value_of(without_gil([&] { return jobs_.remove(id); }));
  }
  std::string logs(const std::string& id) const {
    return value_of(without_gil([&] { return jobs_.logs(id); }));
  }

  const ray::Jobs& jobs() const { return jobs_; }

 private:
  static ray::Endpoint endpoint(const std::string& address, std::optional<std::string> token, double timeout,
                                const std::string& ca_file, bool verify) {
    ray::Endpoint made;
    made.address = value_of(ray::parse_address(address));
    made.token = token ? ray::Token{*token, "the caller"} : value_of(ray::find_token());
    made.answer_limit = time_limit(timeout);
    made.ca_file = ca_file;
    made.verify = verify;
    made.interrupted = signal_came;
    return made;
  }

  ray::Jobs jobs_;
};

class RayJobLog {
 public:
  RayJobLog(const RayJobs& jobs, const std::string& id, std::uint64_t offset) : follower_(jobs.jobs(), id, offset) {}

  // The next text; "" when none arrived within `timeout` seconds; None at the end of the job.
  std::optional<std::string> read(double timeout) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout);
    while (true) {
      std::string text;
      const auto left = duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
      const auto patience = std::clamp(left, milliseconds(0), kSlice);
      const auto event = value_of(without_gil([&] { return follower_.next(&text, patience); }));
      if (event == ray::LogFollower::Event::kEnd) return std::nullopt;
      if (event == ray::LogFollower::Event::kText && !text.empty()) return text;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (left <= milliseconds(0)) return "";
    }
  }
  std::uint64_t offset() const { return follower_.offset(); }
  nb::object job() const { return follower_.job() ? as_python(follower_.job()->to_json()) : nb::none(); }

 private:
  static constexpr milliseconds kSlice{100};
  ray::LogFollower follower_;
};

}  // namespace

}  // namespace fray::python

#define PyInit__ray_jobs FRAY_UNCHECKED(_ray_jobs)
NB_MODULE(_ray_jobs, module) {
  using fray::python::RayJobLog;
  using fray::python::RayJobs;
  module.doc() = "A client of Ray's job submission API that needs no Ray.";
  nb::class_<RayJobs>(module, "RayJobs", "The jobs of a Ray cluster, over the REST API of its dashboard.")
      .def(nb::init<const std::string&, std::optional<std::string>, double, const std::string&, bool>(), "address"_a,
           "token"_a = nb::none(), nb::kw_only(), "timeout"_a = 60.0, "ca_file"_a = "", "verify"_a = true)
      .def_prop_ro("address", &RayJobs::address)
      .def("version", &RayJobs::version, "The cluster's release of Ray.")
      .def("submit", &RayJobs::submit, "entrypoint"_a, nb::kw_only(), "submission_id"_a = "",
           "runtime_env"_a = nb::dict(), "metadata"_a = std::map<std::string, std::string>(), "cpus"_a = nb::none(),
           "gpus"_a = nb::none(), "memory_bytes"_a = nb::none(), "resources"_a = std::map<std::string, double>(),
           "label_selector"_a = std::map<std::string, std::string>(),
           nb::sig("def submit(self, entrypoint: str | list[str], *, submission_id: str = \"\", runtime_env: dict[str, "
                   "object] = {}, metadata: dict[str, str] = {}, cpus: float | None = None, gpus: float | None = None, "
                   "memory_bytes: int | None = None, resources: dict[str, float] = {}, label_selector: dict[str, str] "
                   "= {}) -> str"),
           "Submits a job, once, and returns its submission id. A list is a command whose words no shell splits.")
      .def("get", &RayJobs::get, "submission_id"_a, nb::sig("def get(self, submission_id: str) -> dict[str, object]"),
           "What the cluster knows of a job.")
      .def("status", &RayJobs::status, "submission_id"_a, "PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED.")
      .def("list_jobs", &RayJobs::list, nb::sig("def list_jobs(self) -> list[dict[str, object]]"),
           "All jobs that the cluster remembers.")
      .def("nodes", &RayJobs::nodes, "What each living node of the cluster has, by name of the resource.")
      .def("stop", &RayJobs::stop, "submission_id"_a, "Asks a job to end; false when it had.")
      .def("delete", &RayJobs::remove, "submission_id"_a, "Forgets a job that has ended.")
      .def("logs", &RayJobs::logs, "submission_id"_a, "All output so far.")
      .def(
          "follow",
          [](const RayJobs& jobs, const std::string& id, std::uint64_t offset) {
            return new RayJobLog(jobs, id, offset);
          },
          "submission_id"_a, "offset"_a = 0, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          "The output as it comes, from a byte on, to the job's end.");
  nb::class_<RayJobLog>(module, "RayJobLog", "A job's output as it comes.")
      .def("read", &RayJobLog::read, "timeout"_a = 1.0,
           "The next text; empty when none came in time; None once the job is over and all was read.")
      .def_prop_ro("offset", &RayJobLog::offset, "Bytes read, those before the first one included.")
      .def_prop_ro("job", &RayJobLog::job, nb::sig("def job(self) -> dict[str, object] | None"),
                   "What the cluster said of the job at its end.");
}
#undef PyInit__ray_jobs
FRAY_MAIN_INTERPRETER_ONLY(_ray_jobs)
