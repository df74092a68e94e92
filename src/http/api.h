// Api: what a started node answers over HTTP: its own routes under /api/v1, and Ray's job routes beside them.
//
// Threading:  the loop's.
// Ownership:  owns its link to the node; refers to the jobs.
// Failure:    a failure of the node's is answered as error_response() has it.
#pragma once

#include <memory>
#include <string>

#include "event/loop.h"
#include "http/job_environment.h"
#include "http/job_service.h"
#include "http/node_link.h"
#include "http/package_store.h"
#include "http/route_table.h"

namespace fray::http {

class Api {
 public:
  // `jobs` null: this node keeps none, and there are no routes for them. `packages_folder`: of what is uploaded for them.
  Api(event::Loop& loop, NodeLink& link, JobService* jobs, std::string packages_folder);

  const RouteTable& routes() const { return routes_; }

 private:
  void add_node_routes();
  void add_job_routes();
  void add_log_routes();
  void add_ray_routes();
  void add_package_routes();
  void answer_metrics(const Responder& responder);

  event::Loop& loop_;
  NodeLink& link_;
  JobService* jobs_;
  PackageStore packages_;
  const OwnPython python_ = OwnPython::find();
  RouteTable routes_;
};

}  // namespace fray::http
