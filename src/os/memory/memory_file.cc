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

// Checked first, because the kernel answers a size over this limit with a signal.
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

// What one page of page tables covers. mremap() moves such a page whole when both places begin on a multiple of it,
// which makes moving 800 MB a matter of 0.1 ms in place of 2.
constexpr std::uint64_t kTableBytes = std::uint64_t{2} << 20;

// Room for `bytes` of a mapping, reserved by one that nobody can read or write; nullptr when there is none. Large room
// begins on a multiple of kTableBytes. The caller maps over it, or unmaps it.
std::byte* reserve_place(std::uint64_t bytes) {
  bytes = round_up_to_page(bytes);
  const std::uint64_t spare = bytes >= kTableBytes ? kTableBytes : 0;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const reserved = ::mmap(nullptr, bytes + spare, PROT_NONE, kFlags, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::byte*>(reserved);
  if (spare == 0) return start;
  const std::uint64_t before = (kTableBytes - reinterpret_cast<std::uintptr_t>(start) % kTableBytes) % kTableBytes;
  if (before != 0) ::munmap(start, before);
  if (before != spare) ::munmap(start + before + bytes, spare - before);
  return start + before;
}

// Moves the pages of a mapping to another place and leaves the mapping without them. Kernels before 5.13 refuse that
// for shared memory; there another mapping of the same file is made, whose pages are mapped again when they are used.
void* move_pages(std::byte* data, std::uint64_t bytes) {
  if (std::byte* const place = reserve_place(bytes); place != nullptr) {
    void* const moved = ::mremap(data, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, place);
    if (moved != MAP_FAILED) return moved;
    ::munmap(place, round_up_to_page(bytes));
  }
  return ::mremap(data, 0, bytes, MREMAP_MAYMOVE);
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
    const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
    std::byte* const place = access == Access::kReadWrite ? reserve_place(bytes) : nullptr;
    const int sharing = access == Access::kPrivate ? MAP_PRIVATE : MAP_SHARED;
    const int flags = place == nullptr ? sharing : sharing | MAP_FIXED;
    void* const data = ::mmap(place, bytes, protection, flags, descriptor, 0);
    if (data != MAP_FAILED) return static_cast<std::byte*>(data);
    const int error = errno;
    if (place != nullptr) ::munmap(place, round_up_to_page(bytes));
    return failed("cannot map shared memory", bytes, error);
  }

  Result<std::byte*> make_private(std::byte* data, std::uint64_t bytes, int descriptor) override {
    void* const moved = move_pages(data, bytes);
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
  if (error == 0 || error == EINVAL) return Status::ok();  // EINVAL: before Linux 5.14, which reads at the first use
  if (error == ENOMEM) return failed("cannot get memory to read a file back", bytes, error);
  return Status::io_error("cannot read a file back", error == EFAULT ? EIO : error);
}

Result<std::uint64_t> allocated_bytes(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return Status::io_error("cannot look at shared memory", errno);
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

bool has_all_seals(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

}  // namespace fray::os
