// Clusters: the clusters beside this node whose jobs its dashboard shows: a Ray, an Iris, another node. They are asked by
// programs `fray job …`, and so by the one interface of jobs (cluster/jobs.h), without the node's loop ever waiting for them.
//
//   clusters.add("ray?address=http://10.0.0.5:8265", "", [](Result<json> told) { ... });   // {"name": "ray-10.0.0.5:8265", …}
//   clusters.jobs("ray-10.0.0.5:8265", [](Result<json> jobs) { ... });
//
// Threading:  the node's loop. Callbacks come from the loop, or from inside the call where nobody needs to be asked.
// Ownership:  owns the names, which end with the node; the programs must outlive it.
// Failure:    kNotFound for a cluster that was not named and for a job that it does not have, kInvalidArgument for what names
//             no cluster; else what the cluster's client says.
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
  // `token`: what the cluster wants to see, of whoever names it; empty: what the node finds by itself. It is kept in memory,
  // and told to nobody but the programs that ask.
  void add(const std::string& spec, const std::string& token, OnDocument on_document);
  // Forgets one; its jobs go on.
  Result<nlohmann::json> remove(const std::string& name);
  // All of them, with what each said when its jobs were last asked for. Asks those that were not for a while.
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
    OwnPrograms::Variables variables;  // the token, where one was given
    std::uint64_t asked_ns = 0;        // 0: never
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
  // The same question of several pages is one.
  std::map<std::pair<OwnPrograms::Words, OwnPrograms::Variables>, std::unique_ptr<Question>> asked_;
};

}  // namespace fray::node
