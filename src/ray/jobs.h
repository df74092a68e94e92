// Jobs: a Ray cluster's jobs, over the REST API of its dashboard. Needs no Ray on this machine.
//
//   auto address = parse_address("http://10.0.0.5:8265").value();
//   Jobs jobs({address, find_token().value()});
//   std::string id = jobs.submit({.entrypoint = "python train.py"}).value();
//   JobDetails job = jobs.get(id).value();
//
// A job is submitted once, whatever the network does: it has an id and a mark before it leaves, and when the answer is lost
// the cluster is asked for that id before anything is sent again. A head that is still starting is waited for, twice
// Endpoint::answer_limit at most.
//
// Threading:  any thread; calls block for Endpoint's limits at most, and share nothing but constant values.
// Ownership:  values; a connection lives within a call.
// Failure:    as exchange() and refusal() say; kVersionMismatch when the cluster's Ray is too old. Each message names the
//             address, what was asked and what to do.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "http_client/exchange.h"
#include "ray/endpoint.h"
#include "ray/job_details.h"
#include "ray/job_request.h"
#include "ray/package.h"

namespace fray::ray {

class Jobs {
 public:
  explicit Jobs(Endpoint endpoint) : endpoint_(std::move(endpoint)) { endpoint_.service = kDashboard; }

  const Endpoint& endpoint() const { return endpoint_; }

  // The cluster's release, such as "2.60.0". kVersionMismatch before kOldest.
  Result<std::string> check_version() const;

  // Sends packages that the cluster has not, then the job. The submission id.
  Result<std::string> submit(JobRequest request) const;
  // By submission id; drivers by job id.
  Result<JobDetails> get(const std::string& id) const;
  Result<std::vector<JobDetails>> list() const;
  // False: it had ended.
  Result<bool> stop(const std::string& id) const;
  // Of a job that has ended.
  Result<bool> remove(const std::string& id) const;
  // What the cluster's living nodes have.
  Result<std::vector<NodeResources>> nodes() const;
  // All output so far.
  Result<std::string> logs(const std::string& id) const;

  // Where LogFollower reads.
  static std::string log_path(const std::string& id);

 private:
  using Answer = http_client::Answer;
  using Request = http_client::Request;

  Result<Answer> ask(std::string_view what, const Request& request) const;
  Result<Answer> ask_again(std::string_view what, const Request& request) const;
  Result<std::string> upload(const PackageRequest& package) const;
  Status send_along(nlohmann::json& runtime_env) const;
  Status post(const JobRequest& request) const;
  Result<bool> has_arrived(const JobRequest& request, const std::string& mark) const;

  Endpoint endpoint_;
};

}  // namespace fray::ray
