// Jobs: an Iris cluster's jobs, over the protocol of its controller. Needs no Iris and no Python on this machine.
//
//   Endpoint endpoint{.address = parse_address("http://127.0.0.1:10000").value()};
//   Jobs jobs(endpoint, usual_user());
//   std::string id = jobs.submit({.name = "train", .argv = {"python", "train.py"}}).value();
//   JobDetails job = jobs.get(id).value();
//
// A job is launched once, whatever the network does: it has its id and a mark before it leaves, and when the answer is lost
// the controller is asked for that id before anything is sent again.
//
// Jobs are named by id, /user/job, or by the name alone of one of the user's. Where logging in is wanted, the user is who has
// logged in; else the one that was given.
//
// A job that is launched in a task of the same cluster becomes a child of the task's job, unless it has a parent.
//
// Threading:  any thread; calls block for the patience at most, and share nothing but a login.
// Ownership:  values, whose copies share the login; a connection lives within a call.
// Failure:    as Controller says; kNotFound for a job that the controller does not know. Each message names the address, what
//             was asked and what to do.
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

// Which jobs a list has; empty texts leave none out.
struct JobFilter {
  std::string prefix;  // of the id
  std::string state;   // "running"
  std::string parent;  // the id of the job whose children are meant
};

class Jobs {
 public:
  // How long a controller may be away.
  static constexpr std::chrono::milliseconds kPatience{120'000};

  Jobs(Endpoint endpoint, std::string user, std::chrono::milliseconds patience = kPatience);

  const Endpoint& endpoint() const;
  // For what else is asked there, over the same login.
  std::shared_ptr<const Controller> controller() const { return controller_; }
  Result<std::string> user() const;
  // The task in which this process runs, if it is one of this cluster; its controller may have several addresses.
  Result<std::optional<OwnTask>> own_task() const;

  // Sends the workspace if the controller has not got it, then the job. The id under which it goes.
  Result<std::string> submit(JobRequest request) const;
  // With its tasks, each with its latest attempt.
  Result<JobDetails> get(const std::string& job) const;
  // The newest first, without commands and tasks.
  Result<std::vector<JobDetails>> list(const JobFilter& filter) const;
  // A task with all its attempts.
  Result<TaskDetails> task(const std::string& job, int index) const;
  // By id; jobs that the controller does not know are left out. Cheap, for those who wait. A controller that is away is
  // waited for no longer than `limit`.
  Result<std::map<std::string, JobState>> states(
      const std::vector<std::string>& ids, std::chrono::milliseconds limit = std::chrono::milliseconds::max()) const;
  // Whether all of them have ended before `timeout`.
  Result<bool> wait(const std::vector<std::string>& jobs, std::optional<std::chrono::milliseconds> timeout) const;
  // The job and its children. False: it had ended.
  Result<bool> stop(const std::string& job) const;
  // All that the job itself has written and the controller has got so far, of all attempts.
  Result<std::vector<LogLine>> logs(const std::string& job) const;
  // Some lines after `cursor`, those of children too; it becomes that of the last one. `job` is an id.
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
