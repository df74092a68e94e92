// SharedPage: one page of memory that two processes see, as a memfd whose size cannot be changed.
//
// Threading:  one thread makes and maps it.
// Ownership:  owns the descriptor and the map.
// Failure:    kResourceExhausted or kIoError when the kernel refuses. A descriptor of another size is refused.
#pragma once

#include <cstddef>
#include <utility>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

class SharedPage {
 public:
  static constexpr std::size_t kBytes = 4096;

  static Result<SharedPage> make(const char* name);
  static Result<SharedPage> map(Fd fd);
  SharedPage() = default;
  SharedPage(SharedPage&& other) noexcept : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)) {}
  SharedPage& operator=(SharedPage&& other) noexcept;
  ~SharedPage();

  void* data() const { return data_; }
  int fd() const { return fd_.get(); }
  // The map stays; the descriptor is the caller's.
  Fd take_fd() { return std::move(fd_); }

 private:
  Fd fd_;
  void* data_ = nullptr;
};

}  // namespace fray::os
