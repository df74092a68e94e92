#include "store/spill_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fault.h"

namespace fray::store {
namespace {

std::string free_space(const std::string& folder) {
  struct statvfs facts {};
  if (::statvfs(folder.c_str(), &facts) != 0) return "an unknown number of";
  return std::to_string(static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize);
}

Status failed(const char* what, const std::string& folder, std::uint64_t bytes, int error) {
  const bool exhausted = error == ENOSPC || error == EDQUOT || error == EFBIG || error == EMFILE || error == ENFILE;
  return Status(exhausted ? StatusCode::kResourceExhausted : StatusCode::kIoError,
                fmt::format("{} in the spill folder {}: {} ({} bytes needed, {} bytes free)", what, folder,
                            std::strerror(error), bytes, free_space(folder)));
}

// Makes a file without a name. On file systems that cannot, the file has a name for a moment.
Result<os::Fd> open_unnamed(const std::string& folder, std::uint64_t bytes) {
  os::Fd file(FRAY_FAULT("spill.open", EMFILE) ? -1 : ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    return failed("cannot make a file", folder, bytes, errno);
  }
  std::string name = folder + "/segment-XXXXXX";
  file = os::Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) return failed("cannot make a file", folder, bytes, errno);
  if (::unlink(name.c_str()) != 0) return failed("cannot unlink a file", folder, bytes, errno);
  return file;
}

// Reserves the space, so that a full disk is noticed before any byte is copied. The limit on file sizes is checked
// first, because the kernel answers a violation with a signal.
Status preallocate(const os::Fd& file, std::uint64_t bytes, const std::string& folder) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
    return failed("the limit on file sizes forbids a file", folder, bytes, EFBIG);
  }
  if (FRAY_FAULT("spill.allocate", ENOSPC)) return failed("no room for a file", folder, bytes, errno);
  int error = 0;
  do {
    error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error == 0 ? Status::ok() : failed("no room for a file", folder, bytes, error);
}

struct Copied {
  std::uint64_t bytes = 0;
  int error = 0;  // 0: the source has ended, or all bytes are copied
};

// Copies inside the kernel. EINVAL when it cannot copy between these two files.
Copied send_bytes(int source, int target, std::uint64_t size) {
  Copied copied;
  off_t offset = 0;
  while (copied.bytes < size) {
    if (FRAY_FAULT("spill.copy", ENOSPC)) return {copied.bytes, errno};
    const ssize_t count = ::sendfile(target, source, &offset, std::min<std::uint64_t>(size - copied.bytes, 64u << 20));
    if (count > 0) {
      copied.bytes += static_cast<std::uint64_t>(count);
    } else if (count == 0) {
      return copied;
    } else if (errno != EINTR && errno != EAGAIN) {
      copied.error = errno;
      return copied;
    }
  }
  return copied;
}

int write_all(int target, const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t count = ::pwrite(target, data, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 ? EIO : errno;
    data += count;
    bytes -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

Copied copy_bytes(int source, int target, std::uint64_t from, std::uint64_t size) {
  Copied copied{from, 0};
  std::vector<std::byte> buffer(1u << 20);
  while (copied.bytes < size) {
    const ssize_t count = ::pread(source, buffer.data(), std::min<std::uint64_t>(size - copied.bytes, buffer.size()),
                                  static_cast<off_t>(copied.bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) copied.error = errno;
    if (count <= 0) return copied;
    copied.error = write_all(target, buffer.data(), static_cast<std::size_t>(count), copied.bytes);
    if (copied.error != 0) return copied;
    copied.bytes += static_cast<std::uint64_t>(count);
  }
  return copied;
}

// Writes the file to the disk before its memory is freed, and out of the page cache: otherwise no memory would be
// gained.
Status settle(const os::Fd& file, std::uint64_t bytes, const std::string& folder) {
  while (FRAY_FAULT("spill.sync", EIO) || ::fdatasync(file.get()) != 0) {
    if (errno != EINTR) return failed("cannot write a file", folder, bytes, errno);
  }
  (void)::posix_fadvise(file.get(), 0, static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
  return Status::ok();
}

}  // namespace

Result<SpillFile> spill_to_file(int source, std::uint64_t size, const std::string& folder) {
  FRAY_ASSIGN_OR_RETURN(os::Fd file, open_unnamed(folder, size));
  FRAY_RETURN_IF_ERROR(preallocate(file, size, folder));
  Copied copied = send_bytes(source, file.get(), size);
  if (copied.error == EINVAL || copied.error == ENOSYS) copied = copy_bytes(source, file.get(), copied.bytes, size);
  if (copied.error != 0) return failed("cannot copy a segment", folder, size, copied.error);
  if (copied.bytes != size) {
    return Status(StatusCode::kCorruption,
                  fmt::format("a segment of {} bytes ended after {} while it was spilled", size, copied.bytes));
  }
  FRAY_RETURN_IF_ERROR(settle(file, size, folder));

  // Opened again read-only, so that no receiver of the descriptor can write.
  SpillFile spilled;
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  spilled.descriptor = os::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!spilled.descriptor.is_open()) return failed("cannot open a file again", folder, size, errno);
  spilled.size = size;
  return spilled;
}

}  // namespace fray::store
