#include "http/attach.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "http/api.h"
#include "http/server.h"
#include "http/token_file.h"
#include "os/fd.h"
#include "os/files/run_folder.h"

namespace fray::http {

namespace {

// Members in the order of construction: each may use those before it.
struct Parts {
  TokenFile token;
  std::unique_ptr<Api> api;
  std::unique_ptr<Server> server;
};

Status write_url(const std::string& path, const std::string& url) {
  os::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string line = url + "\n";
  if (file.is_open() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    return Status::ok();
  }
  return Status::io_error("cannot write " + path, errno);
}

}  // namespace

Result<Attached> attach(event::Loop& loop, node::NodeView& node, const std::string& session_folder,
                        std::uint16_t port) {
  FRAY_ASSIGN_OR_RETURN(TokenFile token, TokenFile::create(session_folder + "/http.token"));
  auto parts = std::make_shared<Parts>(Parts{std::move(token), nullptr, nullptr});
  parts->api = std::make_unique<Api>(loop, node, os::home_path() + "/packages");
  FRAY_ASSIGN_OR_RETURN(parts->server,
                        Server::start(loop, port, parts->token.token(), parts->api->sessions(), parts->api->routes()));
  FRAY_RETURN_IF_ERROR(write_url(session_folder + "/http.url", parts->server->url()));
  return Attached{parts->server->url(), parts->token.path(), parts};
}

}  // namespace fray::http
