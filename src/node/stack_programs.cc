#include "node/stack_programs.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <unistd.h>

#include "os/installation.h"
#include "os/socket_pair.h"

namespace fray::node {

namespace {
constexpr std::size_t kMostStackBytes = std::size_t{16} << 20;
}  // namespace

StackPrograms::~StackPrograms() {
  for (auto& [pid, program] : running_) {
    loop_.cancel(program.timer);
    loop_.remove(program.pipe.get());
    ::kill(-pid, SIGKILL);
  }
}

void StackPrograms::read(const std::string& socket, std::int32_t pid, OnStack on_stack) {
  if (running_.size() >= kMost) {
    return on_stack(Status(StatusCode::kResourceExhausted, "stacks of other processes are being read; ask again"));
  }
  auto ends = os::make_pipe();
  if (!ends.is_ok()) return on_stack(ends.status());
  os::SpawnRequest request;
  request.command = {os::own_program(), "stack", "--json", "--socket", socket, "--pid", std::to_string(pid)};
  request.environment = os::own_environment();
  request.standard_output = ends->second.get();
  auto child = spawner_.spawn(request);
  if (!child.is_ok()) return on_stack(child.status());
  const pid_t program = *child;
  Running& running = running_[program];
  running.pipe = std::move(ends->first);
  running.on_stack = std::move(on_stack);
  running.timer = loop_.after(kPatience, [this, program] {
    end(program, Status(StatusCode::kTimedOut, "the process does not tell its stack"));
  });
  Status watched = loop_.add(running.pipe.get(), EPOLLIN, [this, program](std::uint32_t) { ready(program); });
  if (!watched.is_ok()) end(program, watched);
}

void StackPrograms::ready(pid_t pid) {
  Running& running = running_.at(pid);
  std::array<char, 65536> chunk;
  const ssize_t got = ::read(running.pipe.get(), chunk.data(), chunk.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0 && running.text.size() < kMostStackBytes) {
    running.text.append(chunk.data(), static_cast<std::size_t>(got));
    return;
  }
  end(pid, running.text.empty() ? Status(StatusCode::kUnavailable, "the process has ended, or tells nothing")
                                : Status::ok());
}

void StackPrograms::end(pid_t pid, Status why) {
  auto taken = running_.extract(pid);
  Running& running = taken.mapped();
  loop_.cancel(running.timer);
  loop_.remove(running.pipe.get());
  if (why.code() == StatusCode::kTimedOut) ::kill(-pid, SIGKILL);
  running.on_stack(why.is_ok() ? Result<std::string>(std::move(running.text)) : Result<std::string>(std::move(why)));
}

}  // namespace fray::node
