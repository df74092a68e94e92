// Which cluster a command about jobs is about, and how it is reached. A cluster is a line in the table of clusters.cc.
//
//   OpenCluster cluster;
//   if (int code = open_cluster("job list", choice, &cluster); code != kExitOk) return code;
//
// Threading:  one thread; reads the environment.
// Ownership:  OpenCluster owns the client.
// Failure:    open_cluster() says on standard error what failed, and returns the exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/node_session.h"
#include "cluster/jobs.h"

namespace fray::cli {

struct ClusterChoice {
  std::optional<std::string> cluster;  // a spec (cluster/spec.h); else that of FRAY_CLUSTER_SPEC, else a node
  NodeOption socket;                   // of the node
  bool start_node = false;             // where none runs
};

struct OpenCluster {
  std::unique_ptr<cluster::Jobs> jobs;
  std::string option;  // what a further command needs to reach it again: " --cluster '…'"; mostly nothing
};

// `order`: what is to be submitted there. What the command line left out is filled in as the cluster has it, and what it
// cannot do is refused, before anything is asked or started.
int open_cluster(const std::string& command, const ClusterChoice& choice, OpenCluster* cluster,
                 JobSpec* order = nullptr);

}  // namespace fray::cli
