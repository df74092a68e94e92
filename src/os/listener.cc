#include "os/listener.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace fray::os {

namespace {

constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

// A path that is too long is reached through a descriptor of its folder, which must stay open until it was used.
struct Address {
  sockaddr_un name{};
  Fd folder;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<Address> address_of(const std::string& path) {
  Address address;
  std::string text = path;
  if (const std::size_t slash = path.rfind('/'); path.size() > kLongestPath && slash != std::string::npos) {
    address.folder = Fd(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.folder.is_open()) {
      const StatusCode code = errno == ENOENT ? StatusCode::kUnavailable : StatusCode::kIoError;
      return Status(code, fmt::format("cannot open the folder of the socket {}: {}", path, std::strerror(errno)));
    }
    text = fmt::format("/proc/self/fd/{}{}", address.folder.get(), path.substr(slash));
  }
  if (text.empty() || text.size() > kLongestPath) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the socket path {} is empty or its last part too long; Linux allows {} bytes", path,
                              kLongestPath));
  }
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, text.data(), text.size());
  return address;
}

Status full_queue(const std::string& path, std::chrono::milliseconds patience) {
  return Status(StatusCode::kUnavailable,
                fmt::format("the node at {} has accepted no connection for {} ms, and the queue of those that wait is "
                            "full; the node is stopped, overloaded, or has no free descriptors",
                            path, patience.count()));
}

}  // namespace

Result<Listener> Listener::listen(const std::string& path, int backlog) {
  FRAY_ASSIGN_OR_RETURN(Address address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return Status::io_error("socket", errno);
  if (::bind(fd.get(), address.get(), sizeof(address.name)) != 0) {
    return Status::io_error("cannot bind " + path, errno);
  }
  if (::listen(fd.get(), backlog) != 0) return Status::io_error("cannot listen on " + path, errno);
  return Listener(std::move(fd), path);
}

Listener::~Listener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<Fd> connect_to(const std::string& path, std::chrono::milliseconds patience) {
  FRAY_ASSIGN_OR_RETURN(Address address, address_of(path));
  // A socket that does not block would be refused at once while as many wait as the listener's queue takes.
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return Status::io_error("socket", errno);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return full_queue(path, patience);
    const timeval limit{left.count() / 1000, left.count() % 1000 * 1000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (::connect(fd.get(), address.get(), sizeof(address.name)) == 0) break;
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return full_queue(path, patience);
    return Status(StatusCode::kUnavailable, fmt::format("no node answers at {}: {}", path, std::strerror(errno)));
  }
  const timeval none{};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return Status::io_error("fcntl", errno);
  return fd;
}

}  // namespace fray::os
