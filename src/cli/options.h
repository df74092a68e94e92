// The options with which a user names the node or the cluster that a command is meant for.
//
// Threading:  one thread.
// Ownership:  the variables into which the options are read must outlive the parsing.
// Failure:    the parser refuses both options at once; door::find_node() and open_cluster() check the values.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/clusters.h"

namespace fray::cli {

// --socket. For commands without other positional arguments the socket may be given as one, too.
inline CLI::Option* add_node_option(CLI::App& command, NodeOption& socket, bool by_place) {
  return command.add_option(by_place ? "--socket,SOCKET" : "--socket", socket,
                            "The node: its socket, its home, or 'auto'; by default the one of this job, of this home, "
                            "or the newest of this user");
}

inline void add_cluster_options(CLI::App& command, ClusterChoice& choice) {
  CLI::Option* cluster =
      command.add_option("--cluster", choice.cluster,
                         "local, local?address=ADDRESS, ray?address=http://HOST:PORT or "
                         "iris?controller=http://HOST:PORT; by default what FRAY_CLUSTER_SPEC says, else a node");
  add_node_option(command, choice.socket, false)->excludes(cluster);
}

}  // namespace fray::cli
