#include "http/job_source.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "model/job_json.h"

namespace fray::http {

namespace {

using nlohmann::json;

Result<json> only_document(Result<std::vector<JobInfo>> jobs) {
  FRAY_ASSIGN_OR_RETURN(const JobInfo job, only_job(std::move(jobs)));
  return job_json(job);
}

class NodeJobs : public JobSource {
 public:
  NodeJobs(event::Loop& loop, node::NodeView& node) : loop_(loop), node_(node) {}

  void list(OnDocument on_document) override {
    auto jobs = node_.get_jobs({});
    if (!jobs.is_ok()) return on_document(jobs.status());
    on_document(json{{"schema", "fray/v1"}, {"jobs", job_list_json(*jobs)}});
  }
  void get(const std::string& id, OnDocument on_document) override { on_document(only_document(node_.get_jobs({id}))); }
  void stop(const std::string& id, OnDocument on_document) override {
    on_document(only_document(node_.stop_jobs({id})));
  }
  void remove(const std::string& id, OnDocument on_document) override {
    on_document(only_document(node_.remove_jobs({id})));
  }
  std::unique_ptr<JobLog> log(const std::string& id, LogPlace place) override {
    return std::make_unique<NodeJobLog>(loop_, node_, id, place);
  }

 private:
  event::Loop& loop_;
  node::NodeView& node_;
};

class ClusterJobs : public JobSource {
 public:
  ClusterJobs(event::Loop& loop, node::Clusters& clusters, std::string cluster)
      : loop_(loop), clusters_(clusters), cluster_(std::move(cluster)) {}

  void list(OnDocument on_document) override { clusters_.jobs(cluster_, std::move(on_document)); }
  void get(const std::string& id, OnDocument on_document) override {
    clusters_.job(cluster_, id, std::move(on_document));
  }
  void stop(const std::string& id, OnDocument on_document) override {
    clusters_.stop(cluster_, id, std::move(on_document));
  }
  void remove(const std::string& id, OnDocument on_document) override {
    clusters_.forget(cluster_, id, std::move(on_document));
  }
  std::unique_ptr<JobLog> log(const std::string& id, LogPlace place) override {
    return std::make_unique<ClusterJobLog>(clusters_, loop_, cluster_, id, place);
  }

 private:
  event::Loop& loop_;
  node::Clusters& clusters_;
  const std::string cluster_;
};

}  // namespace

Result<JobInfo> only_job(Result<std::vector<JobInfo>> jobs) {
  if (!jobs.is_ok()) return jobs.status();
  if (jobs->size() == 1) return std::move(jobs->front());
  return Status(StatusCode::kNotFound, "there is no such job");
}

std::unique_ptr<JobSource> JobSource::of(const Request& request, event::Loop& loop, node::NodeView& node) {
  auto cluster = request.query.find("cluster");
  if (cluster == request.query.end() || cluster->second.empty()) return std::make_unique<NodeJobs>(loop, node);
  return std::make_unique<ClusterJobs>(loop, node.clusters(), cluster->second);
}

}  // namespace fray::http
