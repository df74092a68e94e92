#include "os/files/content_hash.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL  // header only, so that no library has to be shipped
#include <xxhash.h>

#include "os/fd.h"

namespace fray::os {

Result<std::string> content_hash(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.get(), &facts) != 0) {
    int error = errno;
    return error == ENOENT ? Status(StatusCode::kNotFound, "there is no file " + path)
                           : Status::io_error("cannot read " + path, error);
  }
  if (!S_ISREG(facts.st_mode)) return Status(StatusCode::kInvalidArgument, path + " is no file");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return Status(StatusCode::kInvalidArgument, path + " is empty");
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return Status::io_error("cannot read " + path, errno);
  std::uint64_t hash = XXH3_64bits(bytes, size);
  ::munmap(bytes, size);
  return fmt::format("{:016x}", hash);
}

}  // namespace fray::os
