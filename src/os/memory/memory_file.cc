#include "os/memory/memory_file.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace fray::os {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

Status failed(const char* what, std::uint64_t bytes, int error) {
  std::string text = std::string(what) + " (" + std::to_string(bytes) + " bytes)";
  const bool exhausted = error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE || error == EFBIG ||
                         error == EDQUOT || error == EAGAIN;
  if (!exhausted) return Status::io_error(text, error);
  return Status(StatusCode::kResourceExhausted, text + ": " + std::strerror(error));
}

// The kernel answers a size over this limit with a signal, so look first.
bool over_file_size_limit(std::uint64_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int advise(std::byte* data, std::uint64_t bytes, int advice) {
  for (;;) {
    if (::madvise(data, bytes, advice) == 0) return 0;
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
}

// For kernels before 5.14, which cannot populate: stores into every page leave its bytes as they are.
void touch_pages(std::byte* data, std::uint64_t bytes) {
  for (std::uint64_t offset = 0; offset < bytes; offset += page_bytes()) {
    volatile std::byte& byte = data[offset];
    const std::byte value = byte;
    byte = value;
  }
}

class LinuxMemoryFiles : public MemoryFiles {
 public:
  Result<Fd> create(std::uint64_t bytes) override {
    if (over_file_size_limit(bytes)) return failed("shared memory over the limit on file sizes", bytes, EFBIG);
    Fd descriptor(::memfd_create("fray", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!descriptor.is_open()) return failed("cannot create shared memory", bytes, errno);
    while (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) {
      if (errno != EINTR) return failed("cannot size shared memory", bytes, errno);
    }
    return descriptor;
  }

  Result<std::byte*> map(int descriptor, std::uint64_t bytes, Access access) override {
    const int protection = access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
    void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) return failed("cannot map shared memory", bytes, errno);
    return static_cast<std::byte*>(data);
  }

  Result<std::byte*> make_private(std::byte* data, std::uint64_t bytes, int descriptor) override {
    // With the pages that are mapped already. Before Linux 5.13: another mapping of the same file, which maps them again.
    void* moved = ::mremap(data, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    if (moved == MAP_FAILED) moved = ::mremap(data, 0, bytes, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return failed("cannot move shared memory", bytes, errno);
    constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    if (::mmap(data, bytes, PROT_READ | PROT_WRITE, kFlags, descriptor, 0) == MAP_FAILED) {
      const int error = errno;
      ::munmap(moved, bytes);
      return failed("cannot map shared memory privately", bytes, error);
    }
    return static_cast<std::byte*>(moved);
  }

  Status populate(std::byte* data, std::uint64_t bytes) override {
    const int error = advise(data, bytes, MADV_POPULATE_WRITE);
    if (error == EINVAL) touch_pages(data, bytes);
    if (error == 0 || error == EINVAL) return Status::ok();
    // EFAULT: a store would have raised SIGBUS, because no page can be had under strict overcommit.
    return failed("cannot get memory for shared memory", bytes, error == EFAULT ? ENOMEM : error);
  }

  Status seal(int descriptor) override {
    if (::fcntl(descriptor, F_ADD_SEALS, kSeals) == 0) return Status::ok();
    return Status::io_error("cannot seal shared memory", errno);
  }
};

}  // namespace

std::uint64_t page_bytes() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::uint64_t round_up_to_page(std::uint64_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

MemoryFiles& memory_files() {
  static LinuxMemoryFiles files;
  return files;
}

Status populate_from_file(std::byte* data, std::uint64_t bytes) {
  const int error = advise(data, bytes, MADV_POPULATE_READ);
  if (error == 0 || error == EINVAL) return Status::ok();  // EINVAL: before Linux 5.14, which reads when used
  if (error == ENOMEM) return failed("cannot get memory to read a file back", bytes, error);
  return Status::io_error("cannot read a file back", error == EFAULT ? EIO : error);
}

Result<std::uint64_t> allocated_bytes(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return Status::io_error("cannot look at shared memory", errno);
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

Fd another_descriptor(const Fd& descriptor) { return Fd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3)); }

bool has_all_seals(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

}  // namespace fray::os
