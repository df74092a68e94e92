#include "os/listener.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace fray::os {

namespace {

constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

Result<sockaddr_un> address_of(const std::string& path) {
  if (path.empty() || path.size() > kLongestPath) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the socket path {} has {} bytes; Linux allows {}. Set FRAY_HOME to a shorter folder",
                              path, path.size(), kLongestPath));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Fd open_reserve() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Result<Listener> Listener::listen(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return Status::io_error("socket", errno);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Status::io_error("cannot bind " + path, errno);
  }
  if (::listen(fd.get(), 64) != 0) return Status::io_error("cannot listen on " + path, errno);
  return Listener(std::move(fd), open_reserve(), path);
}

Listener::~Listener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<Fd> Listener::accept(bool* more) {
  *more = true;
  while (true) {
    int fd = ::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) return Fd(fd);
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if ((errno == EMFILE || errno == ENFILE) && reserve_.is_open()) {
      reserve_.reset();
      Fd refused(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      refused.reset();
      reserve_ = open_reserve();
      return std::nullopt;
    }
    *more = false;
    return std::nullopt;
  }
}

Result<Fd> connect_to(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return Status::io_error("socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Status(StatusCode::kUnavailable, fmt::format("no node answers at {}: {}", path, std::strerror(errno)));
  }
  return fd;
}

}  // namespace fray::os
