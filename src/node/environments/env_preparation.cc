#include "node/environments/env_preparation.h"

#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include "os/sockets/socket_pair.h"
#include "runtime_env/prepare_protocol.h"

namespace fray::node {

namespace {
constexpr int kPreparerFd = 3;
constexpr int kReadsAtOnce = 16;
}  // namespace

Status EnvPreparation::start(const std::string& spec, const runtime_env::Variables& environment,
                             const std::string& folder) {
  FRAY_ASSIGN_OR_RETURN(auto ends, os::make_socket_pair());
  os::SpawnRequest request;
  request.command = {"/proc/self/exe", "env", "prepare", "--fd", std::to_string(kPreparerFd)};
  request.environment = environment;
  request.folder = folder;
  request.fds = {{ends.second.get(), kPreparerFd}};
  request.standard_error = STDERR_FILENO;
  FRAY_ASSIGN_OR_RETURN(pid_, spawner_.spawn(request));
  socket_ = std::move(ends.first);
  state_ = "starting";
  FRAY_RETURN_IF_ERROR(loop_.add(socket_.get(), EPOLLIN, [this](std::uint32_t) { read(); }));
  // A description is at most as long as a frame, and the socket is empty: one call sends all of it or fails.
  const std::string_view text(spec.c_str(), spec.size() + 1);
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
    return Status::ok();
  }
  let_go();
  return Status(StatusCode::kRuntimeEnv, "the description of the runtime env is too long");
}

void EnvPreparation::let_go() {
  if (!socket_.is_open()) return;
  loop_.remove(socket_.get());
  socket_.reset();
}

void EnvPreparation::read() {
  std::array<char, 16384> chunk;
  for (int reads = 0; reads < kReadsAtOnce && socket_.is_open(); ++reads) {
    const ssize_t got = ::read(socket_.get(), chunk.data(), chunk.size());
    if (got < 0) return;  // nothing more now
    if (got == 0) return end(Status(StatusCode::kRuntimeEnv, "the process that makes the environment has died"));
    input_.append(chunk.data(), static_cast<std::size_t>(got));
    for (std::size_t stop = input_.find('\n'); stop != std::string::npos; stop = input_.find('\n')) {
      const std::string line = input_.substr(0, stop);
      input_.erase(0, stop + 1);
      take_line(line);
    }
  }
}

void EnvPreparation::take_line(std::string_view line) {
  if (ended_) return;
  runtime_env::PrepareNews news = runtime_env::parse_prepare_news(line);
  if (news.end) return end(std::move(*news.end));
  state_ = news.state;
  if (events_.on_state) events_.on_state();
}

void EnvPreparation::end(Result<runtime_env::PreparedEnv> result) {
  if (ended_) return let_go();
  ended_ = true;
  if (!result.is_ok()) let_go();
  events_.on_end(std::move(result));
}

}  // namespace fray::node
