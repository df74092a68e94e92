// Api: the routes of a started node's HTTP API: its own under /api/v1, and those of Ray's job API beside them.
//
// Threading:  the loop's.
// Ownership:  the node must outlive it.
// Failure:    a Status of the node becomes an answer by error_response().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "event/loop.h"
#include "http/job_environment.h"
#include "http/job_source.h"
#include "http/package_store.h"
#include "http/route_table.h"
#include "http/sessions.h"
#include "model/job_info.h"
#include "model/job_spec.h"
#include "node/node_view.h"

namespace fray::http {

class Api {
 public:
  // `packages_folder`: of what is uploaded for jobs.
  Api(event::Loop& loop, node::NodeView& node, std::string packages_folder);

  const RouteTable& routes() const { return routes_; }
  Sessions& sessions() { return sessions_; }

 private:
  void add_node_routes();
  using JobVerb = void (*)(JobSource& jobs, const Request& request, const JobSource::OnDocument& answer);

  void add_job_route(const char* method, const char* pattern, const char* summary, JobVerb verb);
  void add_job_routes();
  void add_cluster_routes();
  void add_log_routes();
  void add_ray_routes();
  void add_ray_ends();
  void add_ray_logs();
  void submit_as_ray(const Request& request, const Responder& responder);
  decltype(Route::handler) of_ray_job(std::function<void(const Request&, const JobInfo&, const Responder&)> answer);
  void add_package_routes();
  void answer_metrics(const Responder& responder);
  Result<JobInfo> submit(Result<JobSpec> order);
  std::unique_ptr<JobLog> own_log(const std::string& id);

  event::Loop& loop_;
  node::NodeView& node_;
  PackageStore packages_;
  const OwnPython python_ = OwnPython::find();
  Sessions sessions_;
  RouteTable routes_;
};

}  // namespace fray::http
