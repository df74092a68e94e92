// EnvCache: environments and snapshots on disk, each under the digest of what it was made from. An entry is made once
// even if several processes ask for it at the same moment.
//
//   <folder>/entries/<name>/        complete, or not there at all
//                    entry.json     what it is, its size, when it was made
//                    in_use         flock'ed (shared) by its users; its time is that of the last use
//   <folder>/locks/<name>           flock'ed (exclusive) by the process that makes it
//   <folder>/tmp/<name>.<pid>       being made, or being removed
//
// The folder is $FRAY_HOME/cache, else $XDG_CACHE_HOME/fray, else ~/.cache/fray.
//
// Threading:  any thread and any process; they synchronise by files and locks.
// Ownership:  owns nothing but names. An EnvUse keeps its entry from being removed.
// Failure:    what make() returns is returned, and nothing of it is kept: the next one who asks makes it anew. Entries
//             that cannot be read are not there. A full disk is the error of the call that met it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/fd.h"

namespace fray::runtime_env {

// A complete entry that stays while this lives.
class EnvUse {
 public:
  EnvUse() = default;
  const std::string& path() const { return path_; }

 private:
  friend class EnvCache;
  EnvUse(std::string path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  os::Fd lock_;
};

struct EnvEntry {
  std::string name;
  std::string kind;     // "packages", "conda", "working_dir"
  std::string content;  // for people
  std::uint64_t bytes = 0;
  std::int64_t used_at = 0;  // seconds since 1970
  bool in_use = false;
};

class EnvCache {
 public:
  static constexpr std::uint64_t kDefaultLimit = 20ull << 30;

  // What make() is to fill; it exists and is empty. What it returns is the entry's `content`.
  using Make = std::function<Result<std::string>(const std::string& folder)>;
  // Called now and then while another process makes the entry. Not ok: stop waiting, with this.
  using Wait = std::function<Status()>;

  // Makes the folders that are missing.
  static Result<EnvCache> open();
  static Result<EnvCache> open(const std::string& folder);

  // The entry of that name, made if it is not there.
  Result<EnvUse> obtain(const std::string& name, const std::string& kind, const Make& make, const Wait& wait) const;
  // kNotFound: there is no such entry.
  Result<EnvUse> use(const std::string& name) const;
  // The same for the path of an entry, as in PreparedEnv::in_use.
  static Result<EnvUse> use_path(const std::string& path);

  std::vector<EnvEntry> list() const;  // the one used last first
  // Removes what was used longest ago and is not in use, until at most `limit` bytes are left. What was removed.
  std::vector<EnvEntry> prune(std::uint64_t limit) const;
  const std::string& folder() const { return folder_; }

 private:
  explicit EnvCache(std::string folder) : folder_(std::move(folder)) {}

  std::string entry_path(const std::string& name) const { return folder_ + "/entries/" + name; }
  Result<os::Fd> lock(const std::string& name, const Wait& wait) const;
  Result<EnvUse> make_entry(const std::string& name, const std::string& kind, const Make& make) const;
  void remove_leftovers(const std::string& name) const;
  bool remove(const EnvEntry& entry) const;

  std::string folder_;
};

}  // namespace fray::runtime_env
