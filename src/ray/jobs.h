// Jobs: the client of a Ray cluster's jobs, over the REST API of the cluster's dashboard. It needs no Ray on this
// machine.
//
//   auto address = parse_address("http://10.0.0.5:8265").value();
//   Jobs jobs({address, find_token().value()});
//   std::string id = jobs.submit({.entrypoint = "python train.py"}).value();
//   JobDetails job = jobs.get(id).value();
//
// A job is submitted exactly once, whatever the network does. The client chooses its id and writes a mark into its
// metadata before the request is sent. When the answer is lost, the client asks the cluster for a job with that id and
// that mark before it sends the request again. It waits for a head node that is still starting, at most twice
// Endpoint::answer_limit.
//
// Threading:  any thread. A call blocks for Endpoint's limits at most. Calls share only constant values.
// Ownership:  values. Each call opens and closes its own connection.
// Failure:    the codes of exchange() and refusal(), and kVersionMismatch when the cluster's release of Ray is too old.
//             Each message names the address, the request and what to do.
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

  // The release of Ray on the cluster, such as "2.60.0". kVersionMismatch when it is older than kOldest.
  Result<std::string> check_version() const;

  // Uploads the packages that the cluster does not have, submits the job, and returns its submission id.
  Result<std::string> submit(JobRequest request) const;
  // A job by its submission id. A program that was not submitted, but called ray.init by itself, has a job id instead.
  Result<JobDetails> get(const std::string& id) const;
  Result<std::vector<JobDetails>> list() const;
  // Whether the job was stopped; false when it had ended before.
  Result<bool> stop(const std::string& id) const;
  // Deletes a job that has ended from the cluster's list.
  Result<bool> remove(const std::string& id) const;
  // The resources of the cluster's living nodes.
  Result<std::vector<NodeResources>> nodes() const;
  // The whole output that the job has written so far.
  Result<std::string> logs(const std::string& id) const;

  // The path of the WebSocket from which LogFollower reads the job's output.
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
