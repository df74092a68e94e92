// fray._iris_jobs: an Iris cluster's jobs for Python (see src/iris/jobs.h). Documents travel as dicts.
//
// Threading:  any thread; the GIL is released during requests, and Ctrl-C interrupts them.
// Ownership:  Python owns the client and the logs; a log holds its client.
// Failure:    the exceptions of cluster_answers.h.
#include "iris/jobs.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cluster_client.h"
#include "iris/actor_messages.h"
#include "iris/endpoint_registry.h"
#include "iris/iris_jobs.h"
#include "iris/job_order.h"
#include "iris/job_program.h"
#include "iris/log_follower.h"
#include "model/job_json.h"
#include "one_interpreter.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace fray::python {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

nb::object lines_of(const std::vector<iris::LogLine>& lines) {
  nb::list list;
  for (const iris::LogLine& line : lines) {
    list.append(nb::make_tuple(line.job, line.task, line.attempt, line.stream, line.time_ms, line.text));
  }
  return list;
}

void done(const Status& status) {
  if (!status.is_ok()) raise(status);
}

class IrisJobs {
 public:
  IrisJobs(const std::string& controller, const std::string& user, const std::string& token_file, double timeout,
           double patience, const std::string& ca_file, bool verify)
      : jobs_(endpoint(controller, token_file, timeout, ca_file, verify), user.empty() ? iris::usual_user() : user,
              time_limit(patience)) {}

  std::string controller() const { return jobs_.endpoint().address.text(); }
  std::string user() const {
    return value_of(without_gil([&] { return jobs_.user(); }));
  }
  bool is_own() const {
    return value_of(without_gil([&] { return jobs_.own_task(); })).has_value();
  }

  std::string submit(const iris::JobRequest& request) const {
    return value_of(without_gil([&] { return jobs_.submit(request); }));
  }
  nb::object get(const std::string& job) const {
    return as_python(value_of(without_gil([&] { return jobs_.get(job); })).to_json());
  }
  nb::object task(const std::string& job, int index) const {
    return as_python(value_of(without_gil([&] { return jobs_.task(job, index); })).to_json());
  }
  nb::object list(const std::string& prefix, const std::string& state, const std::string& parent) const {
    json documents = json::array();
    for (const iris::JobDetails& job : value_of(without_gil([&] { return jobs_.list({prefix, state, parent}); }))) {
      documents.push_back(job.to_json());
    }
    return as_python(documents);
  }
  // Whether all have ended in time.
  bool wait_all(const std::vector<std::string>& jobs, std::optional<double> timeout) const {
    std::optional<milliseconds> limit;
    if (timeout) limit = *timeout > 0 ? time_limit(*timeout) : milliseconds(0);
    return value_of(without_gil([&] { return jobs_.wait(jobs, limit); }));
  }
  nb::object wait(const std::string& job, std::optional<double> timeout) const {
    if (wait_all({job}, timeout)) return get(job);
    // The caller has set the time limit, so the error is the same as that of a node.
    raise({StatusCode::kTimedOut, fmt::format("the job {} is still going on after {} s", job, *timeout)}, Peer::kNode);
  }
  std::map<std::string, std::string> states(const std::vector<std::string>& ids) const {
    std::map<std::string, std::string> names;
    for (const auto& [id, state] : value_of(without_gil([&] { return jobs_.states(ids); }))) {
      names[id] = iris::to_string(state);
    }
    return names;
  }
  bool stop(const std::string& job) const {
    return value_of(without_gil([&] { return jobs_.stop(job); }));
  }
  nb::object logs(const std::string& job) const {
    return lines_of(value_of(without_gil([&] { return jobs_.logs(job); })));
  }
  std::string resolve(const std::string& job) const {
    return value_of(without_gil([&] { return jobs_.resolve(job); }));
  }

  void register_endpoint(const std::string& id, const std::string& name, const std::string& address,
                         const std::string& task, int attempt,
                         const std::map<std::string, std::string>& metadata) const {
    done(without_gil([&] { return registry().add({id, name, address, task, metadata}, attempt); }));
  }
  void unregister_endpoint(const std::string& id) const {
    done(without_gil([&] { return registry().remove(id); }));
  }
  nb::object endpoints(const std::string& name, bool exact) const {
    nb::list found;
    for (const auto& each : value_of(without_gil([&] { return registry().list(name, exact); }))) {
      nb::dict entry;
      entry["id"] = each.id;
      entry["name"] = each.name;
      entry["address"] = each.address;
      entry["task"] = each.task;
      entry["metadata"] = nb::cast(each.metadata);
      found.append(entry);
    }
    return found;
  }

  const iris::Jobs& jobs() const { return jobs_; }

 private:
  static iris::Endpoint endpoint(const std::string& controller, const std::string& token_file, double timeout,
                                 const std::string& ca_file, bool verify) {
    iris::Endpoint made = value_of(iris::endpoint_at(controller, token_file));
    made.answer_limit = time_limit(timeout);
    made.ca_file = ca_file;
    made.verify = verify;
    made.interrupted = signal_came;
    return made;
  }

  iris::EndpointRegistry registry() const { return iris::EndpointRegistry(jobs_.controller()); }

  iris::Jobs jobs_;
};

class IrisJobLog {
 public:
  IrisJobLog(const IrisJobs& jobs, const std::string& job, std::int64_t cursor, bool with_children)
      : follower_(jobs.jobs(), jobs.resolve(job), cursor, {.with_children = with_children}) {}

  // The next lines; an empty list when none arrived within `timeout` seconds; None after the last line of an ended job.
  std::optional<nb::object> read(double timeout) {
    const milliseconds patience = time_limit(timeout);
    const auto lines = value_of(without_gil([&] { return follower_.next(patience); }));
    if (lines.empty() && follower_.is_over()) return std::nullopt;
    return lines_of(lines);
  }
  std::int64_t cursor() const { return follower_.cursor(); }

 private:
  iris::LogFollower follower_;
};

iris::JobRequest request_of(const nb::dict& order) {
  Members members(as_json(order));
  JobSpec spec;
  Status taken = take_job_spec(members, &spec);
  if (taken.is_ok()) taken = members.end();
  if (!taken.is_ok()) raise(taken);
  return value_of(iris::request_of(spec));
}

using iris::Constraint;
using iris::Device;
using iris::JobRequest;

void add_choices(nb::module_& module) {
  nb::enum_<iris::Existing>(module, "Existing", "What is done with a job of the same id.")
      .value("REFUSE", iris::Existing::kRefuse)
      .value("KEEP", iris::Existing::kKeep)
      .value("REPLACE", iris::Existing::kReplace);
  nb::enum_<iris::Band>(module, "Band", "Which jobs come first.")
      .value("DEFAULT", iris::Band::kDefault)
      .value("PRODUCTION", iris::Band::kProduction)
      .value("INTERACTIVE", iris::Band::kInteractive)
      .value("BATCH", iris::Band::kBatch);
  nb::enum_<Device::Kind>(module, "DeviceKind", "Which accelerator a task needs.")
      .value("CPU", Device::Kind::kCpu)
      .value("GPU", Device::Kind::kGpu)
      .value("TPU", Device::Kind::kTpu);
  nb::enum_<Constraint::Op>(module, "ConstraintOp", "How a machine's attribute is compared.")
      .value("EQ", Constraint::Op::kEq)
      .value("NE", Constraint::Op::kNe)
      .value("EXISTS", Constraint::Op::kExists)
      .value("NOT_EXISTS", Constraint::Op::kNotExists)
      .value("GT", Constraint::Op::kGt)
      .value("GE", Constraint::Op::kGe)
      .value("LT", Constraint::Op::kLt)
      .value("LE", Constraint::Op::kLe)
      .value("IN", Constraint::Op::kIn);
}

void add_fields(nb::class_<JobRequest>& request) {
  request.def_rw("name", &JobRequest::name)
      .def_rw("parent", &JobRequest::parent)
      .def_rw("argv", &JobRequest::argv)
      .def_rw("setup", &JobRequest::setup)
      .def_rw("workspace", &JobRequest::workspace)
      .def_rw("bundle_id", &JobRequest::bundle_id)
      .def_rw("env_vars", &JobRequest::env_vars)
      .def_rw("pip_packages", &JobRequest::pip_packages)
      .def_rw("runner_packages", &JobRequest::runner_packages)
      .def_rw("extras", &JobRequest::extras)
      .def_rw("python_version", &JobRequest::python_version)
      .def_rw("cpu_millicores", &JobRequest::cpu_millicores)
      .def_rw("memory_bytes", &JobRequest::memory_bytes)
      .def_rw("disk_bytes", &JobRequest::disk_bytes)
      .def_rw("replicas", &JobRequest::replicas)
      .def_rw("group_by", &JobRequest::group_by)
      .def_rw("ports", &JobRequest::ports)
      .def_rw("max_retries_failure", &JobRequest::max_retries_failure)
      .def_rw("max_retries_preemption", &JobRequest::max_retries_preemption)
      .def_rw("existing", &JobRequest::existing)
      .def_rw("band", &JobRequest::band)
      .def_rw("task_image", &JobRequest::task_image);
}

void add_methods(nb::class_<JobRequest>& request) {
  request
      .def(
          "add_file",
          [](JobRequest& request, const std::string& name, const nb::bytes& content) {
            request.files[name] = std::string(content.c_str(), content.size());
          },
          "name"_a, "content"_a, "Puts a file beside the workspace.")
      .def(
          "set_device",
          [](JobRequest& request, Device::Kind kind, const std::string& variant, int count,
             const std::string& topology) {
            request.device = {kind, variant, topology, count};
          },
          "kind"_a, "variant"_a, "count"_a, "topology"_a = "", "The accelerator of each task.")
      .def(
          "add_constraint",
          [](JobRequest& request, const std::string& key, Constraint::Op op, const std::vector<std::string>& values,
             bool preferred) {
            request.constraints.push_back({key, op, values, preferred});
          },
          "key"_a, "op"_a, "values"_a, "preferred"_a = false, "Which machines will do.")
      .def(
          "choose",
          [](JobRequest& request, const std::string& key, const std::vector<std::string>& values) {
            request.constraints.push_back(iris::any_of(key, values));
          },
          "key"_a, "values"_a, "Machines whose attribute is one of these will do.")
      .def(
          "set_timeouts",
          [](JobRequest& request, double run, double scheduling) {
            if (run > 0) request.timeout = time_limit(run);
            if (scheduling > 0) request.scheduling_timeout = time_limit(scheduling);
          },
          "run"_a = 0.0, "scheduling"_a = 0.0, "Seconds for which a task may run, and wait; 0 for ever.");
}

void add_request(nb::module_& module) {
  add_choices(module);
  nb::class_<JobRequest> request(module, "IrisJobRequest", "A job as it is asked for.");
  request.def(nb::init<>())
      .def_static("of", &request_of, "order"_a, nb::sig("def of(order: dict[str, object]) -> IrisJobRequest"),
                  "What a job that all clusters could run is on Iris: the keys are the fields of JobSpec in "
                  "src/model/job_spec.h.");
  add_fields(request);
  add_methods(request);
}

}  // namespace

}  // namespace fray::python

#define PyInit__iris_jobs FRAY_UNCHECKED(_iris_jobs)
NB_MODULE(_iris_jobs, module) {
  using fray::python::IrisJobLog;
  using fray::python::IrisJobs;
  module.doc() = "A client of Iris's controller that needs no Iris.";
  fray::python::add_request(module);
  fray::python::add_actor_messages(module);
  module.def("usual_user", &fray::iris::usual_user, "Whose jobs are meant where nobody is named.");
  nb::class_<IrisJobs>(module, "IrisJobs", "The jobs of an Iris cluster, as its controller serves them.")
      .def(nb::init<const std::string&, const std::string&, const std::string&, double, double, const std::string&,
                    bool>(),
           "controller"_a = "", nb::kw_only(), "user"_a = "", "token_file"_a = "", "timeout"_a = 60.0,
           "patience"_a = 120.0, "ca_file"_a = "", "verify"_a = true)
      .def_prop_ro("controller", &IrisJobs::controller)
      .def("user", &IrisJobs::user, "Whose jobs are meant: who has logged in, else who was given.")
      .def("is_own", &IrisJobs::is_own, "Whether this process runs in a task of this cluster.")
      .def("resolve", &IrisJobs::resolve, "job"_a, "The id of a job that is named by its id, or is one of the user's.")
      .def("submit", &IrisJobs::submit, "request"_a, "Launches a job, once, and returns its id.")
      .def("get", &IrisJobs::get, "job"_a, nb::sig("def get(self, job: str) -> dict[str, object]"),
           "What the controller knows of a job.")
      .def("task", &IrisJobs::task, "job"_a, "index"_a,
           nb::sig("def task(self, job: str, index: int) -> dict[str, object]"), "A task with all its attempts.")
      .def(
          "list_jobs", &IrisJobs::list, nb::kw_only(), "prefix"_a = "", "state"_a = "", "parent"_a = "",
          nb::sig("def list_jobs(self, *, prefix: str = \"\", state: str = \"\", parent: str = \"\") -> list[dict[str, "
                  "object]]"),
          "Jobs, the newest first.")
      .def("states", &IrisJobs::states, "ids"_a, "How jobs are, by id; unknown ones are left out.")
      .def("wait", &IrisJobs::wait, "job"_a, "timeout"_a = nb::none(),
           nb::sig("def wait(self, job: str, timeout: float | None = None) -> dict[str, object]"),
           "What the controller knows of a job once it has ended.")
      .def("wait_all", &IrisJobs::wait_all, "jobs"_a, "timeout"_a = nb::none(),
           "Whether all of these jobs have ended in time.")
      .def("stop", &IrisJobs::stop, "job"_a, "Asks a job and its children to end; false when it had.")
      .def("logs", &IrisJobs::logs, "job"_a,
           nb::sig("def logs(self, job: str) -> list[tuple[str, int, int, str, int, str]]"),
           "All lines so far, as IrisJobLog.read has them.")
      .def("register_endpoint", &IrisJobs::register_endpoint, "id"_a, "name"_a, "address"_a, "task"_a, "attempt"_a,
           "metadata"_a, "Puts a name of a running task into the registry.")
      .def("unregister_endpoint", &IrisJobs::unregister_endpoint, "id"_a, "Takes it out again.")
      .def("endpoints", &IrisJobs::endpoints, "name"_a, "exact"_a = false,
           nb::sig("def endpoints(self, name: str, exact: bool = False) -> list[dict[str, object]]"),
           "Those of that name, or those whose names begin with it.")
      .def(
          "follow",
          [](const IrisJobs& jobs, const std::string& job, std::int64_t cursor, bool with_children) {
            return new IrisJobLog(jobs, job, cursor, with_children);
          },
          "job"_a, "cursor"_a = 0, "with_children"_a = false, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          "The output as it comes, from a cursor on, to what comes after the job's end.");
  nb::class_<IrisJobLog>(module, "IrisJobLog", "A job's output as it comes.")
      .def("read", &IrisJobLog::read, "timeout"_a = 1.0,
           nb::sig("def read(self, timeout: float = 1.0) -> list[tuple[str, int, int, str, int, str]] | None"),
           "Lines as job, task, attempt, stream, milliseconds and text; empty when none came in time; None at the end.")
      .def_prop_ro("cursor", &IrisJobLog::cursor, "Where to go on.");
}
#undef PyInit__iris_jobs
FRAY_MAIN_INTERPRETER_ONLY(_iris_jobs)
