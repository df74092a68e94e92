#include "store/userfault_fill.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/memory/memory_file.h"
#include "os/memory/userfault.h"

namespace fray::store {
namespace {

Status refused(std::uint64_t bytes, int error) {
  const bool exhausted = error == ENOMEM || error == ENOSPC;
  return Status(exhausted ? StatusCode::kResourceExhausted : StatusCode::kIoError,
                "cannot fill shared memory (" + std::to_string(bytes) + " bytes): " + std::strerror(error));
}

}  // namespace

std::optional<UserfaultFill> UserfaultFill::open(std::byte* data, std::uint64_t bytes) {
  os::Fd descriptor = os::open_userfault();
  if (!descriptor.is_open()) return std::nullopt;
  uffdio_register range{};
  range.range.start = reinterpret_cast<std::uintptr_t>(data);
  range.range.len = bytes;
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (::ioctl(descriptor.get(), UFFDIO_REGISTER, &range) != 0) return std::nullopt;
  if ((range.ioctls & (1ull << _UFFDIO_COPY)) == 0) return std::nullopt;
  return UserfaultFill(std::move(descriptor));
}

Status UserfaultFill::fill(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  while (bytes > 0) {
    uffdio_copy request{};
    request.dst = reinterpret_cast<std::uintptr_t>(to);
    request.src = reinterpret_cast<std::uintptr_t>(from);
    request.len = bytes;
    request.mode = UFFDIO_COPY_MODE_DONTWAKE;
    const int error = ::ioctl(descriptor_.get(), UFFDIO_COPY, &request) == 0 ? 0 : errno;
    std::uint64_t done = request.copy > 0 ? static_cast<std::uint64_t>(request.copy) : 0;
    if (error == EEXIST && done == 0) {
      done = std::min(bytes, os::page_bytes());
      std::memcpy(to, from, done);
    } else if (error != 0 && error != EAGAIN && error != EINTR && error != EEXIST) {
      return refused(bytes, error);
    }
    to += done;
    from += done;
    bytes -= done;
  }
  return Status::ok();
}

}  // namespace fray::store
