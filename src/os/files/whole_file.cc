#include "os/files/whole_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/fd.h"

namespace fray::os {

namespace {

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = FRAY_FAULT("file_write", ENOSPC) ? -1 : ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::io_error("cannot write " + path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::ok();
}

Status write_draft(const std::string& draft, std::string_view bytes, Durability durability) {
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Status::io_error("cannot create " + draft, errno);
  FRAY_RETURN_IF_ERROR(write_all(file.get(), bytes, draft));
  const bool failed = durability == Durability::kSynced && (FRAY_FAULT("file_sync", EIO) || ::fsync(file.get()) != 0);
  return failed ? Status::io_error("cannot sync " + draft, errno) : Status::ok();
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes, Durability durability) {
  const std::string draft = path + ".new";
  Status written = write_draft(draft, bytes, durability);
  if (written.is_ok() && ::rename(draft.c_str(), path.c_str()) != 0) {
    written = Status::io_error("cannot write " + path, errno);
  }
  if (!written.is_ok()) ::unlink(draft.c_str());
  return written;
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return Status(StatusCode::kNotFound, "there is no file " + path);
  struct stat found {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0) return Status::io_error("cannot read " + path, errno);
  if (static_cast<std::size_t>(found.st_size) > most) return Status(StatusCode::kCorruption, path + " is too large");
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t chunk = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (chunk < 0 && errno == EINTR) continue;
    if (chunk < 0) return Status::io_error("cannot read " + path, errno);
    if (chunk == 0) break;
    got += static_cast<std::size_t>(chunk);
  }
  bytes.resize(got);
  return bytes;
}

Status sync_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.get()) != 0) return Status::io_error("cannot sync the folder " + path, errno);
  return Status::ok();
}

}  // namespace fray::os
