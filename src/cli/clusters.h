// Opens the cluster that a command about jobs is meant for. Each kind of cluster is a row of the table in clusters.cc.
//
//   OpenCluster cluster;
//   if (int code = open_cluster("job list", choice, &cluster); code != kExitOk) return code;
//
// Threading:  one thread; reads the environment.
// Ownership:  OpenCluster owns the client.
// Failure:    open_cluster() prints what failed on standard error, and returns the exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/node_session.h"
#include "cluster/jobs.h"

namespace fray::cli {

struct ClusterChoice {
  std::optional<std::string> cluster;  // its spec; else FRAY_CLUSTER_SPEC decides, else a node
  NodeOption socket;                   // which node is meant
  bool start_node = false;             // start the node of this home if it does not run
};

struct OpenCluster {
  std::unique_ptr<cluster::Jobs> jobs;
  std::string option;  // which a further command needs to reach the same cluster: " --cluster '…'"; mostly empty
};

// `order` is the job that is to be submitted, if the command submits one. What the command line has left out is filled
// in with the defaults of the cluster, and what the cluster cannot do is refused, before any request is sent and any
// node is started.
int open_cluster(const std::string& command, const ClusterChoice& choice, OpenCluster* cluster,
                 JobSpec* order = nullptr);

// The token for the cluster of this spec that is in a variable of this program, for whoever asks the cluster in its place; empty:
// there is none. Tokens in files are found by whoever asks.
Result<std::string> token_of_environment(const std::string& spec);

}  // namespace fray::cli
