// The options that say which node, or which cluster, a command is about.
//
// Threading:  one thread.
// Ownership:  what they are read into outlives the parsing.
// Failure:    the parser refuses both at once; door::find_node() and open_cluster() judge what was given.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/clusters.h"

namespace fray::cli {

// --socket, and for commands that take nothing else the same by its place.
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
