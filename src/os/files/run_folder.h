// The folders of one user's nodes: 0700, ours, and no symbolic link.
//
//   sockets:     $FRAY_HOME/run, else $XDG_RUNTIME_DIR/fray, else /tmp/fray-<uid>; the started node's in node/ there
//   lasting:     $FRAY_HOME, else $XDG_STATE_HOME/fray, else ~/.local/state/fray; without a home the folder of sockets
//
// Threading:  any thread; reads the environment.
// Ownership:  none.
// Failure:    kInvalidArgument when the folder exists but belongs to somebody else, is open to others, or is a link: what
//             was found and what to do is in the message; also when FRAY_HOME is not an absolute path.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::os {

std::string run_folder_path();
// Where the node that `fray start` starts has its socket: one for each home.
std::string started_node_folder();
std::string home_path();
// kInvalidArgument for a home that is too long for a database, or no UTF-8, in which messages carry it, and for a
// FRAY_HOME that depends on the folder a program is started in: that would be many homes.
Status check_home();
// A folder for files that outlive the node, such as `logs`, made and checked like the run folder.
Result<std::string> open_home_folder(const std::string& name);
// Creates the folder where it is missing and checks it. Returns its path.
Result<std::string> open_run_folder();
// mkdir 0700 if missing, then checks owner, mode and kind without following links.
Status make_private_folder(const std::string& path);

}  // namespace fray::os
