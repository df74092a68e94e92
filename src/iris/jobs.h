// Jobs: the client of an Iris cluster's jobs, over the protocol of its controller. It needs neither Iris nor Python on
// this machine.
//
//   Endpoint endpoint{.address = parse_address("http://127.0.0.1:10000").value()};
//   Jobs jobs(endpoint, usual_user());
//   std::string id = jobs.submit({.name = "train", .argv = {"python", "train.py"}}).value();
//   JobDetails job = jobs.get(id).value();
//
// A job is launched exactly once, whatever the network does. The client chooses its id and a mark before the request is
// sent. When the answer is lost, the client asks the controller for a job with that id and that mark before it sends
// the request again.
//
// A job is named by its id, /user/job, or by its name alone when it belongs to the user of this client. That user is
// the one who has logged in, where the controller asks for a login, and otherwise the one that was given.
//
// A job that is launched from a task of the same cluster becomes a child of that task's job, unless the request names a
// parent.
//
// Threading:  any thread. Calls block for the patience at most. Calls share only the login.
// Ownership:  values, whose copies share the login. Each call opens and closes its own connections.
// Failure:    the codes of Controller; kNotFound for a job that the controller does not know. Each message names the
//             address, the request and what to do.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "iris/bundle.h"
#include "iris/endpoint.h"
#include "iris/job_details.h"
#include "iris/job_request.h"
#include "iris/log_line.h"
#include "iris/names.h"
#include "iris/own_task.h"

namespace fray::iris {

class Controller;

// Which jobs a list contains. A field that is empty excludes none.
struct JobFilter {
  std::string prefix;  // of the id
  std::string state;   // "running"
  std::string parent;  // the id of the job whose children are meant
};

class Jobs {
 public:
  // How long a request waits for a controller that is away.
  static constexpr std::chrono::milliseconds kPatience{120'000};

  Jobs(Endpoint endpoint, std::string user, std::chrono::milliseconds patience = kPatience);

  const Endpoint& endpoint() const;
  // The client of the controller itself, for other requests with the same login.
  std::shared_ptr<const Controller> controller() const { return controller_; }
  Result<std::string> user() const;
  // The task in which this process runs, if it is a task of this cluster. The addresses may differ: the controller is
  // asked.
  Result<std::optional<OwnTask>> own_task() const;

  // Uploads the workspace if the controller does not have it, launches the job, and returns the job's id.
  Result<std::string> submit(JobRequest request) const;
  // A job with its tasks, each with its latest attempt.
  Result<JobDetails> get(const std::string& job) const;
  // Jobs, the newest first, without their commands and tasks.
  Result<std::vector<JobDetails>> list(const JobFilter& filter) const;
  // A task with all its attempts.
  Result<TaskDetails> task(const std::string& job, int index) const;
  // The states of jobs by their ids, without the jobs that the controller does not know. The request is cheap, so that
  // it can be repeated while something waits. It waits for a controller that is away for `limit` at most.
  Result<std::map<std::string, JobState>> states(
      const std::vector<std::string>& ids, std::chrono::milliseconds limit = std::chrono::milliseconds::max()) const;
  // Waits until all of the jobs have ended; false when the timeout is over before that.
  Result<bool> wait(const std::vector<std::string>& jobs, std::optional<std::chrono::milliseconds> timeout) const;
  // Stops the job and its children; false when the job had ended before.
  Result<bool> stop(const std::string& job) const;
  // The output of the job itself, of all its attempts, as far as it has reached the controller. Output of children is
  // left out.
  Result<std::vector<LogLine>> logs(const std::string& job) const;
  // Some lines of output after `*cursor`, those of the job's children included; `*cursor` then stands after the last of
  // them. Those that come together are in the order in which they were written. `job` must be an id.
  Result<std::vector<LogLine>> read_log(const std::string& job, std::int64_t* cursor) const;

  Result<std::string> resolve(const std::string& job) const;
  Status not_there(const std::string& id) const;

 private:
  Status launch(const JobRequest& request, const std::string& id, Bundle bundle, std::string* launched) const;
  Result<std::optional<std::string>> find_launched(const std::string& id, const std::string& mark,
                                                   Existing existing) const;

  std::shared_ptr<const Controller> controller_;
  const std::string user_;
};

}  // namespace fray::iris
