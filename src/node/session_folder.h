// SessionFolder: a node's own folder: its socket, a lock that says that it lives, and node.json for those who look for it.
//
//   <run folder>/<session>/node.lock   flock'ed while the node lives
//                          node.sock
//                          node.json   {"pid": ..., "started_ticks": ..., "socket": ..., "release": ...}, mode 0600
//
// The lock is what counts: who holds it lives, whatever node.json says. It is taken before anything in the folder is
// changed or removed, by whoever does so.
//
// Threading:  one thread.
// Ownership:  owns the folder and the lock; removes the folder and what it put there at the end.
// Failure:    create() returns what os::run_folder says. Leftovers of nodes that died are removed on the way; what cannot
//             be removed stays. find_sessions() skips what it cannot read.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"
#include "os/process_name.h"

namespace fray::node {

class SessionFolder {
 public:
  // `path` empty: a new name in the run folder. Else that folder is created 0700 if it is missing.
  static Result<SessionFolder> create(const std::string& path);
  SessionFolder(SessionFolder&&) = default;
  SessionFolder& operator=(SessionFolder&&) = delete;
  ~SessionFolder();

  const std::string& path() const { return path_; }
  std::string socket_path() const { return path_ + "/node.sock"; }
  // Written once the socket listens.
  Status announce(pid_t pid, const std::string& release);

 private:
  SessionFolder(std::string path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  os::Fd lock_;
};

struct SessionInfo {
  std::string folder;
  std::string socket;
  std::string release;
  os::ProcessName process;  // as it said itself
  timespec started{};
};

// Living nodes of this user, the newest first.
std::vector<SessionInfo> find_sessions();
// The living node in this folder.
std::optional<SessionInfo> find_session(const std::string& folder);
// Removes folders of nodes that are dead.
void remove_stale_sessions(const std::string& run_folder);

}  // namespace fray::node
