#include "iris/iris_jobs.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "iris/iris_log.h"
#include "iris/job_order.h"

namespace fray::iris {

namespace {

using std::chrono::milliseconds;

Status wrong_iris_spec(const std::string& what) {
  return Status(
      StatusCode::kInvalidArgument,
      what + "; write iris?controller=http://HOST:PORT, with &user=NAME or &token_file=PATH where they differ");
}

}  // namespace

// ---- Which cluster

Result<Endpoint> endpoint_at(const std::string& controller, const std::string& token_file) {
  std::string address = controller;
  if (const auto task = OwnTask::find(); address.empty() && task) address = task->controller;
  if (address.empty())
    return wrong_iris_spec("the address of the Iris controller is missing, and this is no task of Iris");
  Endpoint endpoint;
  FRAY_ASSIGN_OR_RETURN(endpoint.address, parse_address(address));
  FRAY_ASSIGN_OR_RETURN(endpoint.token, find_token(endpoint.address, token_file));
  return endpoint;
}

Result<Jobs> jobs_of(const cluster::Spec& spec, std::function<bool()> interrupted) {
  std::string controller;
  std::string token_file;
  std::string user;
  for (const auto& [key, value] : spec.keys) {
    std::string* place = key == "controller" ? &controller : key == "token_file" ? &token_file : nullptr;
    if (key == "user") place = &user;
    if (place == nullptr) return wrong_iris_spec(fmt::format("an Iris cluster has no key \"{}\"", key));
    if (value.empty()) return wrong_iris_spec(fmt::format("the key {} of the Iris cluster is empty", key));
    *place = value;
  }
  if (!user.empty()) FRAY_RETURN_IF_ERROR(job_id(user, "", "job").status());
  FRAY_ASSIGN_OR_RETURN(Endpoint endpoint, endpoint_at(controller, token_file));
  endpoint.interrupted = std::move(interrupted);
  return Jobs(std::move(endpoint), user.empty() ? usual_user() : user);
}

// ---- Which job

// The id of the job that `id` names in full or by its beginning. Ids of children begin with those of their parents, and
// do not count.
Result<std::string> IrisJobs::find(const std::string& text) const {
  FRAY_ASSIGN_OR_RETURN(std::string id, jobs_.resolve(text));
  FRAY_ASSIGN_OR_RETURN(const auto known, jobs_.states({id}));
  if (known.contains(id)) return id;
  FRAY_ASSIGN_OR_RETURN(std::vector<JobDetails> found, jobs_.list({.prefix = id}));
  std::erase_if(found, [&](const JobDetails& job) { return job.id.find('/', id.size()) != std::string::npos; });
  if (found.empty()) return jobs_.not_there(id);
  if (found.size() == 1) return found.front().id;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("{} jobs begin with {}; write more of the id", found.size(), text));
}

Result<std::vector<std::string>> IrisJobs::find_all(const Ids& ids) const {
  std::vector<std::string> whole;
  for (const std::string& id : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string found, find(id));
    whole.push_back(std::move(found));
  }
  return whole;
}

// ---- Verbs

Result<JobInfo> IrisJobs::submit(JobSpec spec, const Patience&) {
  FRAY_ASSIGN_OR_RETURN(JobRequest request, request_of(spec));
  FRAY_ASSIGN_OR_RETURN(spec.id, jobs_.submit(std::move(request)));
  // The job is launched, even if the question for its state fails.
  if (auto details = jobs_.get(spec.id); details.is_ok()) return info_of(*details);
  JobInfo info;
  info.spec = std::move(spec);
  info.spec.environment.clear();
  return info;
}

Result<cluster::Infos> IrisJobs::list(const Patience&) {
  FRAY_ASSIGN_OR_RETURN(const std::string user, jobs_.user());
  FRAY_ASSIGN_OR_RETURN(std::vector<JobDetails> found, jobs_.list({.prefix = "/" + user + "/"}));
  std::reverse(found.begin(), found.end());
  Infos infos;
  for (const JobDetails& job : found) infos.push_back(info_of(job));
  return infos;
}

Result<cluster::Infos> IrisJobs::get(const Ids& ids, const Patience&) {
  FRAY_ASSIGN_OR_RETURN(const std::vector<std::string> whole, find_all(ids));
  Infos infos;
  for (const std::string& id : whole) {
    FRAY_ASSIGN_OR_RETURN(const JobDetails job, jobs_.get(id));
    infos.push_back(info_of(job));
  }
  return infos;
}

Result<cluster::Infos> IrisJobs::wait(const Ids& ids, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(const std::vector<std::string> whole, find_all(ids));
  std::optional<milliseconds> limit;
  if (patience.deadline) {
    const auto left = std::chrono::ceil<milliseconds>(*patience.deadline - std::chrono::steady_clock::now());
    limit = std::max(left, milliseconds(0));
  }
  FRAY_ASSIGN_OR_RETURN(const bool have_ended, jobs_.wait(whole, limit));
  if (have_ended) return get(whole, patience);
  return Status(StatusCode::kTimedOut,
                whole.size() == 1 ? fmt::format("the time is up, and the job {} goes on", whole.front())
                                  : fmt::format("the time is up, and not all of {} jobs have ended", whole.size()));
}

Result<cluster::Infos> IrisJobs::stop(const Ids& ids, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(const std::vector<std::string> whole, find_all(ids));
  for (const std::string& id : whole) FRAY_RETURN_IF_ERROR(jobs_.stop(id).status());
  return get(whole, patience);
}

Result<cluster::Infos> IrisJobs::remove(const Ids& ids, const Patience&) {
  FRAY_RETURN_IF_ERROR(find_all(ids).status());
  return Status(
      StatusCode::kInvalidArgument,
      "Iris forgets jobs that have ended by itself, some time later, and at nobody's request; leave them there, and "
      "end those that run with `fray job stop`");
}

Result<std::unique_ptr<cluster::JobLog>> IrisJobs::open_log(const cluster::LogRequest& request, const Patience&) {
  FRAY_ASSIGN_OR_RETURN(const std::string id, find(request.id));
  FRAY_ASSIGN_OR_RETURN(const JobDetails job, jobs_.get(id));
  return open_iris_log(jobs_, job, request);
}

}  // namespace fray::iris
