#include "os/memory/memory_page.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

namespace fray::os {

Result<SharedPage> SharedPage::make(const char* name) {
  Fd fd(FRAY_FAULT("page", EMFILE) ? -1 : ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open()) return Status::io_error("memfd_create", errno);
  if (::ftruncate(fd.get(), kBytes) != 0) return Status::io_error("ftruncate", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Status::io_error("seals", errno);
  return map(std::move(fd));
}

Result<SharedPage> SharedPage::map(Fd fd) {
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return Status::io_error("fstat", errno);
  if (found.st_size != static_cast<off_t>(kBytes))
    return Status(StatusCode::kCorruption, "a shared page has a wrong size");
  void* data = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return Status::io_error("mmap", errno);
  SharedPage page;
  page.fd_ = std::move(fd);
  page.data_ = data;
  return page;
}

SharedPage& SharedPage::operator=(SharedPage&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) ::munmap(data_, kBytes);
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
  }
  return *this;
}

SharedPage::~SharedPage() {
  if (data_ != nullptr) ::munmap(data_, kBytes);
}

}  // namespace fray::os
