// The folder in which the nodes of one user have their sockets: 0700, ours, and no symbolic link.
//
//   $FRAY_HOME/run, else $XDG_RUNTIME_DIR/fray, else /tmp/fray-<uid>
//
// Threading:  any thread; reads the environment.
// Ownership:  none.
// Failure:    kInvalidArgument when the folder exists but belongs to somebody else, is open to others, or is a link: what
//             was found and what to do is in the message.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::os {

std::string run_folder_path();
// Creates the folder where it is missing and checks it. Returns its path.
Result<std::string> open_run_folder();
// mkdir 0700 if missing, then checks owner, mode and kind without following links.
Status make_private_folder(const std::string& path);

}  // namespace fray::os
