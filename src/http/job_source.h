// JobSource: the jobs that a request is about: those of this node, or with `cluster=NAME` in its address those of another
// cluster. The routes are the same.
//
//   source->get(id, [](Result<json> job) { ... });
//
// Threading:  the loop's. Callbacks come later or from inside the call, and may come after the source's end.
// Ownership:  node and loop must outlive it.
// Failure:    kNotFound for a cluster or a job that is not there; what the node or the cluster says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "event/loop.h"
#include "http/job_log.h"
#include "http/message.h"
#include "model/job_info.h"
#include "node/node_view.h"

namespace fray::http {

class JobSource {
 public:
  using OnDocument = std::function<void(const Result<nlohmann::json>& document)>;

  virtual ~JobSource() = default;
  virtual void list(OnDocument on_document) = 0;
  virtual void get(const std::string& id, OnDocument on_document) = 0;
  virtual void stop(const std::string& id, OnDocument on_document) = 0;
  virtual void remove(const std::string& id, OnDocument on_document) = 0;
  virtual std::unique_ptr<JobLog> log(const std::string& id, LogPlace place) = 0;

  static std::unique_ptr<JobSource> of(const Request& request, event::Loop& loop, node::NodeView& node);
};

// The one job in a list of one.
Result<JobInfo> only_job(Result<std::vector<JobInfo>> jobs);

}  // namespace fray::http
