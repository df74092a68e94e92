#include "os/sockets/peer.h"

#include <cerrno>

#include <sys/socket.h>

#include "os/process/pidfd.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace fray::os {

Result<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Status::io_error("SO_PEERCRED", errno);
  }
  Peer peer;
  peer.pid = credentials.pid;
  peer.uid = credentials.uid;
  if (peer.pid == 0) return peer;

  int pidfd = -1;
  size = sizeof(pidfd);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
    peer.pidfd = Fd(pidfd);
    return peer;
  }
  if (errno == ESRCH) {
    peer.alive = false;
    return peer;
  }
  auto opened = open_pidfd(peer.pid);  // before Linux 6.5
  if (opened.is_ok()) {
    peer.pidfd = std::move(opened).value();
  } else if (opened.status().code() == StatusCode::kNotFound) {
    peer.alive = false;
  }
  return peer;
}

}  // namespace fray::os
