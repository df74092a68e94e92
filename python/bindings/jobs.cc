// JobClient: asking a node about jobs. fray.backend.native.cluster makes a cluster of it.
//
// Threading:  any thread with the GIL, which calls that wait release; signals of the main thread are handled meanwhile.
// Ownership:  Python owns the client, and with it its connections.
// Failure:    the exceptions of cluster_answers.h.
#include "client/jobs/job_client.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "cluster/log_lines.h"
#include "cluster_answers.h"
#include "documents.h"
#include "model/job_json.h"
#include "model/json_text.h"
#include "signatures.h"

namespace nb = nanobind;

namespace fray::python {

namespace {

using client::JobClient;

// Asks the node without the GIL and returns its answer.
template <typename Ask>
auto answer_to(Ask ask) {
  return value_of(without_gil(std::move(ask)), Peer::kNode);
}

// The patience of a call: it ends at the deadline and, on the main thread, when the handler of a signal raises.
door::Patience patience_of(std::optional<double> seconds = {}) {
  if (!seconds) return {{}, signal_came};
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*seconds));
  return {deadline, signal_came};
}

using Ids = std::vector<std::string>;

std::string submit(JobClient& self, const nb::dict& order) {
  Members members(json_of(order));
  JobSpec spec;
  Status taken = take_job_spec(members, &spec, true);
  if (taken.is_ok()) taken = members.end();
  if (!taken.is_ok()) raise(taken, Peer::kNode);
  return json_text(job_json(answer_to([&] { return self.submit(std::move(spec), patience_of()); })));
}

// Jobs as JSON text.
template <typename Ask>
std::string told(Ask ask) {
  return json_text(job_list_json(answer_to(ask)));
}

// The output of a job as text, line by line; with several replicas, each line begins with the replica's number.
class LogText {
 public:
  LogText(JobClient& jobs, const std::string& id, bool follow)
      : log_(answer_to([&] { return jobs.open_log({.id = id, .follow = follow}, patience_of()); })) {}

  // The next whole lines; nothing at the end.
  nb::bytes read() {
    while (text_.empty() && !over_) {
      const LogBatch batch = answer_to([&] { return log_->next(patience_of()); });
      over_ = batch.pieces.empty();
      if (over_) {
        lines_.finish();
      } else {
        of_several_ = batch.of_several;
        lines_.add(batch);
      }
    }
    const nb::bytes text(text_.data(), text_.size());
    text_.clear();
    return text;
  }

 private:
  std::unique_ptr<cluster::JobLog> log_;
  std::string text_;
  bool of_several_ = false;
  bool over_ = false;
  cluster::LogLines lines_{[this](const cluster::LogLine& line) { text_ += cluster::line_text(line, of_several_); }};
};

}  // namespace

void add_jobs(nb::module_& module) {
  nb::class_<LogText>(module, "JobLog", "A job's output.")
      .def("read", &LogText::read, "The next whole lines, once there are some; nothing at the end.");
  nb::class_<JobClient>(module, "JobClient", "Asks the node at a socket about jobs.")
      .def(
          "__init__", [](JobClient* self, const std::string& socket) { new (self) JobClient(socket); },
          nb::arg("socket"))
      .def("submit", submit, nb::arg("order"), nb::sig("def submit(self, order: dict[str, object]) -> str"),
           "Starts a job: the keys are the fields of JobSpec in src/model/job_spec.h. Returns it as JSON.")
      .def(
          "get",
          [](JobClient& self, const Ids& ids) {
            return told([&] { return ids.empty() ? self.list(patience_of()) : self.get(ids, patience_of()); });
          },
          nb::arg("ids"), "Jobs as a JSON array; all of them for no ids.")
      .def(
          "wait",
          [](JobClient& self, const Ids& ids, std::optional<double> timeout) {
            return told([&] { return self.wait(ids, patience_of(timeout)); });
          },
          nb::arg("ids"), nb::arg("timeout") = nb::none(), "Waits for the end of all.")
      .def(
          "stop", [](JobClient& self, const Ids& ids) { return told([&] { return self.stop(ids, patience_of()); }); },
          nb::arg("ids"), "Asks them to end.")
      .def(
          "remove",
          [](JobClient& self, const Ids& ids) { return told([&] { return self.remove(ids, patience_of()); }); },
          nb::arg("ids"), "Forgets jobs that have ended.")
      .def(
          "open_log", [](JobClient& self, const std::string& id, bool follow) { return new LogText(self, id, follow); },
          nb::arg("id"), nb::arg("follow"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          "The output of a job; with `follow` over all attempts, to its end.");
}

}  // namespace fray::python
