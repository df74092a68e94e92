// Clusters: the clusters beside this node whose jobs its dashboard shows: Ray clusters, Iris clusters, other nodes. Programs
// `fray job …` ask them, through the one interface of jobs (cluster/jobs.h), so that the node's loop never waits for them.
//
//   clusters.add("ray?address=http://10.0.0.5:8265", "", [](Result<json> told) { ... });   // {"name": "ray-10.0.0.5:8265", …}
//   clusters.jobs("ray-10.0.0.5:8265", [](Result<json> jobs) { ... });
//
// Threading:  the node's loop. Callbacks come from the loop, or from inside the call when no cluster has to be asked.
// Ownership:  owns the names, which end with the node; the programs must outlive it.
// Failure:    kNotFound for an unknown cluster and for an unknown job of a cluster, kInvalidArgument for a spec that names
//             no cluster; else the error of the cluster's client.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "node/clusters/cluster_log.h"
#include "node/own_programs.h"

namespace fray::node {

class Clusters {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::chrono::seconds kPatience{20};
  using OnDocument = std::function<void(const Result<nlohmann::json>& document)>;

  Clusters(event::Loop& loop, OwnPrograms& programs);
  ~Clusters();
  Clusters(const Clusters&) = delete;
  Clusters& operator=(const Clusters&) = delete;

  // Keeps a cluster under a name of its own once its client has understood the spec, whether the cluster answers or not.
  // `token`: the token that the cluster asks for, from the user who adds it; empty: the one that the node finds itself. It
  // is kept in memory, and passed to nothing but the programs that ask the cluster.
  void add(const std::string& spec, const std::string& token, OnDocument on_document);
  // Forgets a cluster; its jobs go on.
  Result<nlohmann::json> remove(const std::string& name);
  // All clusters, with the last answer of each to the question for its jobs. Asks those that were not asked for a while.
  nlohmann::json list();

  // Documents as `fray job list --json` and `fray job status --json` have them.
  void jobs(const std::string& cluster, OnDocument on_document);
  void job(const std::string& cluster, const std::string& id, OnDocument on_document);
  void stop(const std::string& cluster, const std::string& id, OnDocument on_document);
  void forget(const std::string& cluster, const std::string& id, OnDocument on_document);
  Result<std::unique_ptr<ClusterLog>> open_log(const std::string& cluster, const ClusterLog::Place& place);

 private:
  struct Cluster {
    std::string scheme;
    std::string spec;
    OwnPrograms::Variables variables;  // the token, if one was given
    std::uint64_t asked_ns = 0;        // 0: it was never asked
    bool answers = false;
    std::string problem;  // why its jobs could not be listed; empty: they could, or nobody asked
    std::map<std::string, std::uint64_t> counts;  // of jobs by status, when it last answered
  };

  struct Question;

  nlohmann::json told(const std::string& name, const Cluster& cluster) const;
  void note(const std::string& name, const Result<nlohmann::json>& jobs);
  void ask(const Cluster& cluster, std::vector<std::string> verb, OnDocument on_document);
  void change(const char* verb, const std::string& cluster, const std::string& id, OnDocument on_document);
  Result<const Cluster*> find(const std::string& name) const;

  event::Loop& loop_;
  OwnPrograms& programs_;
  std::map<std::string, Cluster> clusters_;
  // Questions of several pages that are the same are asked once.
  std::map<std::pair<OwnPrograms::Words, OwnPrograms::Variables>, std::unique_ptr<Question>> asked_;
};

}  // namespace fray::node
