// SessionInfo: what the folder of a node tells about it, for programs that look for a node.
//
//   <run folder>/<session>/node.lock   flock'ed while the node lives
//                          node.sock
//                          node.json   {"pid": ..., "started_ticks": ..., "socket": ..., "release": ...}, mode 0600
//
// Only the lock counts: a node lives while its lock is held, whatever node.json says. node/sessions/session_folder.h writes the
// files.
//
// Threading:  any thread; reads the run folder, and holds a node's lock shared for an instant.
// Ownership:  values.
// Failure:    a folder that cannot be read is skipped.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "door/patience.h"
#include "os/process/process_name.h"

namespace fray::door {

inline constexpr const char* kSocketName = "/node.sock";
inline constexpr const char* kLockName = "/node.lock";
inline constexpr const char* kInfoName = "/node.json";

// Whether a node holds the lock. A folder without a lock file is nobody's, or not finished yet.
enum class Life { kAlive, kDead, kUnknown };
Life life_of(const std::string& folder);

struct SessionInfo {
  std::string folder;
  std::string socket;
  std::string release;
  os::ProcessName process;  // as it said itself
  timespec started{};
};

// The living node in this folder.
std::optional<SessionInfo> find_session(const std::string& folder);
// The same, waiting while a node lives there that does not accept clients yet.
std::optional<SessionInfo> await_session(const std::string& folder, const Patience& patience);
// Living nodes of this user, the newest first.
std::vector<SessionInfo> find_sessions();
// The release that the node in this folder wrote down, living or dead; empty when there is none.
std::string release_in(const std::string& folder);
// The folders in `folder`, links left out.
std::vector<std::string> subfolders(const std::string& folder);

}  // namespace fray::door
