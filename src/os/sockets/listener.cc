#include "os/sockets/listener.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace fray::os {

namespace {

constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

// The address of a socket. A path that is too long is reached through a descriptor of its folder, which must stay open
// until the address was used.
struct Address {
  sockaddr_un name{};
  Fd folder;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Status no_descriptor(const std::string& path, int error) {
  const bool ran_out = error == EMFILE || error == ENFILE;
  return Status(ran_out ? StatusCode::kResourceExhausted : StatusCode::kIoError,
                fmt::format("this process gets no socket for {}: {}{}", path, std::strerror(error),
                            ran_out ? "; close some files, or raise the limit of open files (ulimit -n)" : ""));
}

Result<Address> address_of(const std::string& path) {
  Address address;
  std::string text = path;
  if (const std::size_t slash = path.rfind('/'); path.size() > kLongestPath && slash != std::string::npos) {
    address.folder = Fd(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.folder.is_open() && (errno == EMFILE || errno == ENFILE)) return no_descriptor(path, errno);
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

std::pair<dev_t, ino_t> file_at(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? std::pair(found.st_dev, found.st_ino) : std::pair<dev_t, ino_t>();
}

}  // namespace

Result<Listener> Listener::listen(const std::string& path, int backlog) {
  FRAY_ASSIGN_OR_RETURN(Address address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return Status::io_error("socket", errno);
  if (::bind(fd.get(), address.get(), sizeof(address.name)) != 0) {
    return Status::io_error("cannot bind " + path, errno);
  }
  Listener listener(std::move(fd), path);
  if (::listen(listener.fd(), backlog) != 0) return Status::io_error("cannot listen on " + path, errno);
  return listener;
}

Listener::Listener(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)), file_(file_at(path_)) {}

Listener::~Listener() {
  // Its own file keeps its number as long as the socket is bound to it.
  if (fd_.is_open() && file_at(path_) == file_) ::unlink(path_.c_str());
}

Result<Fd> connect_to(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(Address address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return no_descriptor(path, errno);
  if (::connect(fd.get(), address.get(), sizeof(address.name)) != 0) {
    const StatusCode code = errno == EAGAIN ? StatusCode::kTimedOut : StatusCode::kUnavailable;
    return Status(code, fmt::format("no node answers at {}: {}", path, std::strerror(errno)));
  }
  return fd;
}

}  // namespace fray::os
