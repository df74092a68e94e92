#include "os/machine/kernel.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "os/process/pidfd.h"

namespace fray::os {

Status check_kernel_release(std::string_view release) {
  int major = 0;
  int minor = 0;
  std::string text(release);
  bool read = std::sscanf(text.c_str(), "%d.%d", &major, &minor) == 2;
  if (read && (major > 5 || (major == 5 && minor >= 4))) return Status::ok();
  return Status(StatusCode::kUnavailable,
                fmt::format("Fray's engine needs Linux 5.4 or later; this is Linux {}", release));
}

Status check_kernel() {
  utsname name{};
  if (::uname(&name) != 0) return Status(StatusCode::kInternal, "uname failed");
  FRAY_RETURN_IF_ERROR(check_kernel_release(name.release));
  auto self = open_pidfd(::getpid());
  if (self.is_ok()) return Status::ok();
  return Status(StatusCode::kUnavailable,
                fmt::format("Fray's engine needs pidfd_open, and this kernel or sandbox refuses it: {}",
                            self.status().message()));
}

}  // namespace fray::os
