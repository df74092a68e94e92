// SessionFolder: a node's own folder: its socket, a lock that is held while the node lives, and node.json, which
// describes it.
//
// The names of these files are in door/session_info.h, for programs that look for nodes. A process takes the lock
// before it changes or removes anything in the folder.
//
// Threading:  one thread.
// Ownership:  owns the folder and the lock; removes the folder and what it put there at the end.
// Failure:    create() returns what os::run_folder says. Leftovers of nodes that died are removed on the way; what cannot
//             be removed stays.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/status.h"
#include "door/session_info.h"
#include "os/fd.h"

namespace fray::node {

class SessionFolder {
 public:
  // `path` empty: a new name in the run folder. Else that folder is created 0700 if it is missing.
  static Result<SessionFolder> create(const std::string& path);
  SessionFolder(SessionFolder&&) = default;
  SessionFolder& operator=(SessionFolder&&) = delete;
  ~SessionFolder();

  const std::string& path() const { return path_; }
  std::string socket_path() const { return path_ + door::kSocketName; }
  // Written once the socket listens.
  Status announce(pid_t pid, const std::string& release);

 private:
  SessionFolder(std::string path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  os::Fd lock_;
};

// Removes folders of nodes that are dead.
void remove_stale_sessions(const std::string& run_folder);

}  // namespace fray::node
