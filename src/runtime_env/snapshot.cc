#include "runtime_env/snapshot.h"

#include <cerrno>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "runtime_env/archive.h"
#include "runtime_env/digest.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSnapshotBlock = 1u << 20;
constexpr int kTries = 3;
constexpr const char* kTree = "/tree";

Status write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Status::io_error("cannot write into the cache", errno);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return Status::ok();
}

// Adds a file's bytes to the digest, and copies them to `to` unless it is empty.
Status read_file(const std::string& from, const std::string& to, bool executable, Digest& digest) {
  os::Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!in.is_open()) return Status::io_error("cannot read " + from, errno);
  struct stat found {};
  if (::fstat(in.get(), &found) != 0) return Status::io_error("cannot read " + from, errno);
  os::Fd out;
  if (!to.empty()) {
    out = os::Fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0500 : 0400));
    if (!out.is_open()) return Status::io_error("cannot write " + to, errno);
  }
  digest.begin(static_cast<std::uint64_t>(found.st_size));
  auto block = std::make_unique<char[]>(kSnapshotBlock);
  while (true) {
    const ssize_t got = ::read(in.get(), block.get(), kSnapshotBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::io_error("cannot read " + from, errno);
    if (got == 0) return Status::ok();
    digest.bytes(block.get(), static_cast<std::size_t>(got));
    if (out.is_open()) FRAY_RETURN_IF_ERROR(write_all(out.get(), block.get(), static_cast<std::size_t>(got)));
  }
}

// Returns the digest of the listed files, which are copied to `to` unless that is empty.
Result<std::string> read_tree(const std::string& root, const std::string& to, const TreeLimits& limits,
                              const BuildWatch& watch) {
  FRAY_ASSIGN_OR_RETURN(std::vector<TreeItem> items, list_folder(root, limits));
  Digest digest;
  digest.add("snapshot 1");
  for (const TreeItem& item : items) {
    FRAY_RETURN_IF_ERROR(watch.still_wanted());
    digest.add(item.path).add(fmt::format("{}{}", static_cast<char>(item.kind), item.executable)).add(item.target);
    const std::string there = to.empty() ? "" : to + "/" + item.path;
    if (item.kind == TreeItem::Kind::kFile) {
      FRAY_RETURN_IF_ERROR(read_file(root + "/" + item.path, there, item.executable, digest));
    } else if (!there.empty() && item.kind == TreeItem::Kind::kFolder && ::mkdir(there.c_str(), 0700) != 0) {
      return Status::io_error("cannot create " + there, errno);
    } else if (!there.empty() && item.kind == TreeItem::Kind::kLink &&
               ::symlink(item.target.c_str(), there.c_str()) != 0) {
      return Status::io_error("cannot create " + there, errno);
    }
  }
  return digest.text();
}

void make_read_only(const std::string& tree) {
  std::error_code error;
  constexpr auto kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  for (auto each = fs::recursive_directory_iterator(tree, error); each != fs::recursive_directory_iterator();) {
    std::error_code ignored;
    if (!each->is_symlink(ignored)) fs::permissions(each->path(), kWrite, fs::perm_options::remove, ignored);
    each.increment(error);
    if (error) break;
  }
  fs::permissions(tree, kWrite, fs::perm_options::remove, error);
}

Result<EnvUse> snapshot_of_folder(const EnvCache& cache, const std::string& folder, const BuildWatch& watch,
                                  const TreeLimits& limits) {
  for (int tries = 0; tries < kTries; ++tries) {
    FRAY_ASSIGN_OR_RETURN(const std::string digest, read_tree(folder, "", limits, watch));
    bool changed = false;
    auto copy = [&](const std::string& entry) -> Result<std::string> {
      const std::string tree = entry + kTree;
      if (::mkdir(tree.c_str(), 0700) != 0) return Status::io_error("cannot create " + tree, errno);
      FRAY_ASSIGN_OR_RETURN(const std::string copied, read_tree(folder, tree, limits, watch));
      changed = copied != digest;
      if (changed) return Status(StatusCode::kRuntimeEnv, "its files change");
      make_read_only(tree);
      return folder;
    };
    Result<EnvUse> made = cache.obtain("dir-" + digest, "working_dir", copy, [&] { return watch.still_wanted(); });
    if (made.is_ok() || !changed) return made;
  }
  return Status(
      StatusCode::kRuntimeEnv,
      fmt::format("working_dir {} cannot be copied: its files keep changing; name those that are written to in a "
                  ".frayignore file there",
                  folder));
}

Result<EnvUse> snapshot_of_archive(const EnvCache& cache, const std::string& archive, const BuildWatch& watch,
                                   const TreeLimits& limits) {
  Digest digest;
  digest.add("archive 1");
  FRAY_RETURN_IF_ERROR(read_file(archive, "", false, digest));
  auto unpack = [&](const std::string& entry) -> Result<std::string> {
    const std::string tree = entry + kTree;
    if (::mkdir(tree.c_str(), 0700) != 0) return Status::io_error("cannot create " + tree, errno);
    FRAY_RETURN_IF_ERROR(unpack_archive(archive, tree, limits));
    make_read_only(tree);
    return archive;
  };
  return cache.obtain("dir-" + digest.text(), "working_dir", unpack, [&] { return watch.still_wanted(); });
}

}  // namespace

Result<EnvUse> take_snapshot(const EnvCache& cache, const std::string& working_dir, const BuildWatch& watch,
                             const TreeLimits& limits) {
  watch.say("taking a snapshot of " + working_dir);
  struct stat found {};
  if (::stat(working_dir.c_str(), &found) != 0) {
    return Status(StatusCode::kRuntimeEnv, fmt::format("working_dir {} does not exist", working_dir));
  }
  if (S_ISDIR(found.st_mode)) return snapshot_of_folder(cache, working_dir, watch, limits);
  if (S_ISREG(found.st_mode)) return snapshot_of_archive(cache, working_dir, watch, limits);
  return Status(
      StatusCode::kRuntimeEnv,
      fmt::format("working_dir {} is neither a folder nor an archive such as a .zip or .tar.gz", working_dir));
}

}  // namespace fray::runtime_env
