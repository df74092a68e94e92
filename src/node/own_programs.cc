#include "node/own_programs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/sockets/socket_pair.h"

namespace fray::node {

OwnPrograms::OwnPrograms(event::Loop& loop, os::Spawner& spawner, std::string program)
    : loop_(loop), spawner_(spawner), program_(std::move(program)) {}

OwnPrograms::~OwnPrograms() {
  while (!running_.empty()) withdraw(running_.begin()->first);
}

Result<OwnPrograms::Id> OwnPrograms::ask(const Words& words, std::chrono::nanoseconds patience, OnAnswer on_answer,
                                         const Variables& variables) {
  FRAY_ASSIGN_OR_RETURN(const Id id, start(words, {}, std::move(on_answer), variables));
  running_.at(id).timer = loop_.after(
      patience, [this, id] { end(id, Status(StatusCode::kTimedOut, "it does not answer; ask again later")); });
  return id;
}

Result<OwnPrograms::Id> OwnPrograms::follow(const Words& words, OnOutput on_output, OnAnswer on_end,
                                            const Variables& variables) {
  return start(words, std::move(on_output), std::move(on_end), variables);
}

Result<OwnPrograms::Id> OwnPrograms::start(const Words& words, OnOutput on_output, OnAnswer on_answer,
                                           const Variables& variables) {
  if (running_.size() >= kMost) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the node asks {} processes and clusters already; ask again later", kMost));
  }
  FRAY_ASSIGN_OR_RETURN(auto output, os::make_pipe());
  FRAY_ASSIGN_OR_RETURN(auto errors, os::make_pipe());
  os::SpawnRequest request;
  request.command = {program_};
  request.command.insert(request.command.end(), words.begin(), words.end());
  request.environment = os::own_environment();
  for (const auto& [name, value] : variables) {
    std::erase_if(request.environment, [&](const auto& own) { return own.first == name; });
    request.environment.emplace_back(name, value);
  }
  request.standard_output = output.second.get();
  request.standard_error = errors.second.get();
  FRAY_ASSIGN_OR_RETURN(const pid_t pid, spawner_.spawn(request));
  const Id id = ++last_;
  Program& program = running_[id];
  program.pid = pid;
  program.output = std::move(output.first);
  program.errors = std::move(errors.first);
  program.on_output = std::move(on_output);
  program.on_answer = std::move(on_answer);
  Status watched = watch(id, program.output);
  if (watched.is_ok()) watched = watch(id, program.errors);
  if (!watched.is_ok()) {
    withdraw(id);
    return watched;
  }
  return id;
}

Status OwnPrograms::watch(Id id, const os::Fd& pipe) {
  const int fd = pipe.get();
  return loop_.add(fd, EPOLLIN, [this, id, fd](std::uint32_t) { ready(id, fd); });
}

void OwnPrograms::ready(Id id, int fd) {
  Program& program = running_.at(id);
  const bool is_output = fd == program.output.get();
  std::array<char, 65536> chunk;
  const ssize_t got = ::read(fd, chunk.data(), chunk.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close(is_output ? program.output : program.errors);
    return end_if_over(id);
  }
  const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
  if (is_output && program.on_output) {
    const OnOutput on_output = program.on_output;  // the callback may withdraw the program
    return on_output(bytes);
  }
  std::string& text = is_output ? program.answer.output : program.answer.errors;
  if (text.size() + bytes.size() > kMostBytes) {
    return end(
        id, Status(StatusCode::kResourceExhausted, fmt::format("the answer is larger than {} MiB", kMostBytes >> 20)));
  }
  text.append(bytes);
}

void OwnPrograms::close(os::Fd& pipe) {
  if (!pipe.is_open()) return;
  loop_.remove(pipe.get());
  pipe.reset();
}

// A pipe at its end would wake the loop all the time while nobody reads it, so it is not watched meanwhile.
void OwnPrograms::pause(Id id) {
  auto found = running_.find(id);
  if (found == running_.end() || found->second.paused || !found->second.output.is_open()) return;
  found->second.paused = true;
  loop_.remove(found->second.output.get());
}

void OwnPrograms::go_on(Id id) {
  auto found = running_.find(id);
  if (found == running_.end() || !std::exchange(found->second.paused, false)) return;
  Status watched = watch(id, found->second.output);
  if (watched.is_ok()) return;
  found->second.paused = true;
  found->second.timer = loop_.after({}, [this, id, watched] { end(id, watched); });
}

void OwnPrograms::end_if_over(Id id) {
  const Program& program = running_.at(id);
  if (program.reaped && !program.output.is_open() && !program.errors.is_open()) end(id, Status::ok());
}

OwnPrograms::Program OwnPrograms::take(Id id) {
  Program program = std::move(running_.extract(id).mapped());
  loop_.cancel(program.timer);
  if (program.paused) program.output.reset();
  close(program.output);
  close(program.errors);
  if (!program.reaped) ::kill(-program.pid, SIGKILL);
  return program;
}

void OwnPrograms::end(Id id, Status why) {
  Program program = take(id);
  program.on_answer(why.is_ok() ? Result<Answer>(std::move(program.answer)) : Result<Answer>(std::move(why)));
}

void OwnPrograms::withdraw(Id id) {
  if (running_.contains(id)) take(id);
}

bool OwnPrograms::is_one(pid_t pid) const {
  return std::any_of(running_.begin(), running_.end(), [pid](const auto& each) { return each.second.pid == pid; });
}

void OwnPrograms::child_ended(const os::Ended& ended) {
  for (auto& [id, program] : running_) {
    if (program.pid != ended.pid || program.reaped) continue;
    program.reaped = true;
    program.answer.exit_code = WIFEXITED(ended.wait_status) ? WEXITSTATUS(ended.wait_status) : 0;
    program.answer.signal = WIFSIGNALED(ended.wait_status) ? WTERMSIG(ended.wait_status) : 0;
    return end_if_over(id);
  }
}

}  // namespace fray::node
