#include "node/workers/worker_processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/pidfd.h"
#include "os/process/process_facts.h"
#include "os/sockets/socket_pair.h"

namespace fray::node {

namespace {
constexpr std::chrono::seconds kEndLimit{5};     // from being told to end to being killed
constexpr std::chrono::seconds kOrphanLimit{1};  // for the ends of workers whose fork server died
constexpr std::chrono::milliseconds kFirstDelay{100};
constexpr int kKilled = SIGKILL;  // as a wait status
constexpr WorkerKeyId kFirstKey = 1;
}  // namespace

WorkerProcesses::WorkerProcesses(event::Loop& loop, os::Spawner& spawner, LogRelay& logs, Events events)
    : loop_(loop), spawner_(spawner), logs_(logs), events_(std::move(events)), limits_(os::ProcessLimits::raise()) {}

WorkerProcesses::~WorkerProcesses() = default;

WorkerKeyId WorkerProcesses::define(const wire::WorkerKey& description) {
  const auto [known, is_new] = numbers_.emplace(description, last_key_ + 1);
  if (!is_new) return known->second;
  const WorkerKeyId number = ++last_key_;
  keys_[number].description = description;
  if (!description.runtime_env.empty()) {
    keys_[number].env = EnvState::kMissing;
    make_env(number);
  }
  return number;
}

void WorkerProcesses::warm_up(WorkerKeyId number) {
  auto found = keys_.find(number);
  if (found == keys_.end() || found->second.env != EnvState::kReady) return;
  if (Status started = ensure_server(number); !started.is_ok()) failed(found->second, started);
}

EnvState WorkerProcesses::env_state(WorkerKeyId number) const {
  auto found = keys_.find(number);
  return found == keys_.end() ? EnvState::kReady : found->second.env;
}

std::string WorkerProcesses::env_text(WorkerKeyId number) const {
  auto found = keys_.find(number);
  if (found == keys_.end()) return {};
  const Key& key = found->second;
  return key.env == EnvState::kMaking ? key.preparation->state() : key.env_error;
}

void WorkerProcesses::make_env(WorkerKeyId number) {
  auto found = keys_.find(number);
  if (found == keys_.end() || found->second.env != EnvState::kMissing) return;
  Key& key = found->second;
  key.env = EnvState::kMaking;
  key.env_error.clear();
  EnvPreparation::Events events;
  events.on_end = [this, number](Result<runtime_env::PreparedEnv> made) { env_made(number, std::move(made)); };
  key.preparation = std::make_unique<EnvPreparation>(loop_, spawner_, std::move(events));
  const wire::WorkerKey& wanted = key.description;
  Status started = key.preparation->start(wanted.runtime_env, wanted.environment, wanted.folder);
  if (started.is_ok()) return;
  key.env = EnvState::kFailed;
  key.env_error = started.message();
}

void WorkerProcesses::env_made(WorkerKeyId number, Result<runtime_env::PreparedEnv> made) {
  Key& key = keys_.at(number);
  Status used = made.is_ok() ? use_env(key, std::move(made).value()) : made.status();
  key.env = used.is_ok() ? EnvState::kReady : EnvState::kFailed;
  key.env_error = used.message();
  key.preparation->let_go();
  if (used.is_ok()) {
    if (Status started = ensure_server(number); !started.is_ok()) failed(key, started);
  }
  events_.on_env(number);
}

// The preparing process holds the environment until the node does.
Status WorkerProcesses::use_env(Key& key, runtime_env::PreparedEnv prepared) {
  std::vector<runtime_env::EnvUse> uses;
  for (const std::string& entry : prepared.in_use) {
    FRAY_ASSIGN_OR_RETURN(runtime_env::EnvUse use, runtime_env::EnvCache::use_path(entry));
    uses.push_back(std::move(use));
  }
  key.uses = std::move(uses);
  key.prepared = std::move(prepared);
  return Status::ok();
}

void WorkerProcesses::forgive_env(WorkerKeyId number) {
  auto found = keys_.find(number);
  if (found != keys_.end() && found->second.env == EnvState::kFailed) found->second.env = EnvState::kMissing;
}

bool WorkerProcesses::rest(WorkerKeyId number) {
  if (std::any_of(workers_.begin(), workers_.end(), [number](const auto& each) { return each.second.key == number; })) {
    return false;
  }
  auto found = keys_.find(number);
  if (found == keys_.end()) return true;
  wire::WorkerKey description = std::move(found->second.description);
  found->second = Key();  // the fork server ends with its socket
  found->second.description = std::move(description);
  if (!found->second.description.runtime_env.empty()) found->second.env = EnvState::kMissing;
  return true;
}

void WorkerProcesses::forget(WorkerKeyId number) {
  auto found = keys_.find(number);
  if (found == keys_.end()) return;
  numbers_.erase(found->second.description);
  keys_.erase(found);
}

std::vector<WorkerKeyId> WorkerProcesses::awake_keys() const {
  std::vector<WorkerKeyId> numbers;
  for (const auto& [number, key] : keys_) {
    if (key.is_awake()) numbers.push_back(number);
  }
  return numbers;
}

Status WorkerProcesses::ensure_server(WorkerKeyId number) {
  Key& key = keys_.at(number);
  key.ended.clear();
  if (key.server && key.server->is_running()) return Status::ok();
  ForkServerLink::Events events;
  events.on_frame = [this](wire::Incoming& frame) { server_frame(frame); };
  events.on_ended = [this, number] { server_ended(number); };
  key.server = std::make_unique<ForkServerLink>(loop_, spawner_, limits_, std::move(events));
  Status started = number == kFirstKey && started_
                       ? key.server->adopt(*std::exchange(started_, std::nullopt))
                       : key.server->start(ForkServerCommand::of(key.description, key.prepared));
  if (!started.is_ok()) {
    key.server.reset();
    return started;
  }
  if (key.expected_actors > 1) key.server->load_actors();
  if (key.expected_loops > 1) key.server->load_loop();
  return started;
}

Result<os::Fd> WorkerProcesses::guardian_program() {
  if (!guardian_.is_open()) {
    const std::string path = os::program_beside(::getpid(), "fray-guardian");
    guardian_ = os::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!guardian_.is_open()) return Status::io_error("cannot open " + path, errno);
  }
  os::Fd copy(FRAY_FAULT("guardian_program", EMFILE) ? -1 : ::fcntl(guardian_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) return Status::io_error("fcntl", errno);
  return copy;
}

Status WorkerProcesses::start(WorkerKeyId number, ProcessId worker) {
  auto found = keys_.find(number);
  if (found == keys_.end()) return Status(StatusCode::kNotFound, "there is no such worker key");
  auto make = [&]() -> Status {
    FRAY_RETURN_IF_ERROR(ensure_server(number));
    FRAY_ASSIGN_OR_RETURN(auto control, os::make_socket_pair());
    FRAY_ASSIGN_OR_RETURN(auto output, os::make_pipe());
    FRAY_ASSIGN_OR_RETURN(auto error, os::make_pipe());
    FRAY_ASSIGN_OR_RETURN(os::SharedPage page, os::SharedPage::make("fray-worker-page"));
    auto* view = new (page.data()) WorkerPage();
    std::vector<os::Fd> fds;
    fds.push_back(std::move(control.second));
    fds.push_back(std::move(output.second));
    fds.push_back(std::move(error.second));
    fds.push_back(page.take_fd());
    FRAY_ASSIGN_OR_RETURN(os::Fd guardian, guardian_program());
    fds.push_back(std::move(guardian));
    WorkerProcess& entry = workers_[worker];
    entry.key = number;
    entry.page = std::move(page);
    Status attached = logs_.attach(worker, std::move(output.first), std::move(error.first), view);
    if (!attached.is_ok() || !events_.on_socket(worker, std::move(control.first))) {
      logs_.finish(worker);
      workers_.erase(worker);
      return attached.is_ok() ? Status(StatusCode::kResourceExhausted, "the node cannot watch more sockets") : attached;
    }
    found->second.server->spawn_worker(worker, std::move(fds));
    return Status::ok();
  };
  Status made = make();
  if (!made.is_ok()) failed(found->second, made);
  return made;
}

std::chrono::milliseconds WorkerProcesses::start_delay(WorkerKeyId number) const {
  auto found = keys_.find(number);
  if (found == keys_.end() || found->second.failures == 0) return std::chrono::milliseconds(0);
  return kFirstDelay * (1 << std::min(found->second.failures - 1, 5u));
}

void WorkerProcesses::failed(Key& key, std::string reason, bool blames_env) {
  ++key.failures;
  key.reason = std::move(reason);
  key.blames_env = blames_env;
}

// A missing program, or more variables than Linux accepts, fails the same way at the next try.
void WorkerProcesses::failed(Key& key, const Status& why) {
  failed(key, why.message(), why.code() == StatusCode::kNotFound || why.code() == StatusCode::kInvalidArgument);
}

StatusCode WorkerProcesses::failure_code(WorkerKeyId number) const {
  auto found = keys_.find(number);
  return found != keys_.end() && found->second.blames_env ? StatusCode::kRuntimeEnv : StatusCode::kWorkerDied;
}

void WorkerProcesses::said_hello(ProcessId worker, std::int32_t pid) {
  logs_.set_pid(worker, pid);
  if (auto found = workers_.find(worker); found != workers_.end()) found->second.said_pid = pid;
}

void WorkerProcesses::started_well(ProcessId process) {
  auto found = workers_.find(process);
  if (found == workers_.end()) return;
  found->second.greeted = true;
  keys_.at(found->second.key).failures = 0;
}

std::string WorkerProcesses::failure_reason(WorkerKeyId number) const {
  auto found = keys_.find(number);
  return found == keys_.end() ? std::string() : found->second.reason;
}

void WorkerProcesses::server_frame(wire::Incoming& frame) {
  auto worker = static_cast<ProcessId>(frame.header.id);
  switch (static_cast<wire::ControlType>(frame.header.type)) {
    case wire::ControlType::kSpawned: {
      auto message = wire::decode<wire::Spawned>(frame.body);
      if (message.is_ok()) spawned(worker, *message, frame);
      break;
    }
    case wire::ControlType::kExited: {
      auto message = wire::decode<wire::Exited>(frame.body);
      if (message.is_ok()) gone(worker, message->wait_status, message->peak_memory_bytes);
      break;
    }
    default:
      break;
  }
}

void WorkerProcesses::spawned(ProcessId worker, const wire::Spawned& message, wire::Incoming& frame) {
  auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  WorkerProcess& entry = found->second;
  if (!message.error.empty()) {
    keys_.at(entry.key).reason = message.error;
    return gone(worker, kKilled, 0);
  }
  entry.pid = message.pid;
  if (frame.fds.size() == 1) entry.pidfd = std::move(frame.fds.front());
  logs_.set_pid(worker, message.pid);
  if (entry.expected && entry.end_timer == 0) kill(worker, true);  // it was to end before it existed
}

void WorkerProcesses::kill(ProcessId worker, bool expected, const std::string& why) {
  auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  found->second.expected = found->second.expected || expected;
  if (!why.empty()) found->second.why_killed = why;
  if (!found->second.pidfd.is_open()) return;
  // A worker that has ended already is reported soon.
  if (!os::send_signal(found->second.pidfd, SIGKILL).is_ok()) return;
}

void WorkerProcesses::will_end(ProcessId worker) {
  auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  found->second.expected = true;
  if (found->second.end_timer != 0) return;
  found->second.end_timer = loop_.after(kEndLimit, [this, worker] { kill(worker, true); });
}

void WorkerProcesses::expect_end(ProcessId worker) {
  if (auto found = workers_.find(worker); found != workers_.end()) found->second.expected = true;
}

void WorkerProcesses::expect_actor(WorkerKeyId number, bool event_loop) {
  auto found = keys_.find(number);
  if (found == keys_.end()) return;
  Key& key = found->second;
  const bool is_running = key.server && key.server->is_running();
  if (++key.expected_actors == 2 && is_running) key.server->load_actors();
  if (event_loop && ++key.expected_loops == 2 && is_running) key.server->load_loop();
}

void WorkerProcesses::server_ended(WorkerKeyId number) {
  Key& key = keys_.at(number);
  std::string lines = key.server->last_lines();
  failed(key,
         lines.empty() ? "the fork server ended without a word" : "the fork server ended; its last output:\n" + lines,
         true);
  key.ended.push_back(std::move(key.server));
  std::vector<ProcessId> unborn;
  std::vector<ProcessId> orphans;
  for (const auto& [process, worker] : workers_) {
    if (worker.key == number) (worker.pid == 0 ? unborn : orphans).push_back(process);
  }
  for (ProcessId worker : unborn) gone(worker, kKilled, 0);
  // The kernel kills the workers and makes them children of the node, which reaps them. The fork server may have reaped
  // one without reporting it, so each is also killed here.
  for (ProcessId worker : orphans) kill(worker, false);
  loop_.after(kOrphanLimit, [this, orphans] {
    for (ProcessId worker : orphans) gone(worker, kKilled, 0);
  });
}

void WorkerProcesses::child_ended(const os::Ended& ended) {
  for (const auto& [process, worker] : workers_) {
    if (worker.pid != ended.pid) continue;
    return gone(process, ended.wait_status, static_cast<std::uint64_t>(ended.peak_memory_kib) * 1024);
  }
}

void WorkerProcesses::gone(ProcessId process, int wait_status, std::uint64_t peak_memory_bytes) {
  auto found = workers_.find(process);
  if (found == workers_.end()) return;
  WorkerProcess& worker = found->second;
  wire::ExitFacts facts;
  facts.pid = worker.pid;
  facts.exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
  facts.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  facts.peak_memory_bytes = peak_memory_bytes;
  facts.last_task = worker.view()->task_number.load(std::memory_order_acquire);
  facts.task = worker.view()->running_task();
  if (facts.signal == SIGKILL) facts.why_killed = worker.why_killed;
  facts.log_tail = logs_.finish(process);
  WorkerEnd end = worker.expected ? WorkerEnd::kExpected : WorkerEnd::kUnexpected;
  const auto ended = [&](std::string_view when) {
    return fmt::format("a worker ended {} (exit code {}, signal {}){}{}", when, facts.exit_code, facts.signal,
                       facts.log_tail.empty() ? "" : ": ", facts.log_tail);
  };
  if (end == WorkerEnd::kUnexpected && worker.pid != 0) {
    Key& key = keys_.at(worker.key);
    if (!worker.greeted) {
      failed(key, ended("at its start"), true);
    } else if (facts.last_task == 0 && worker.why_killed.empty() && !any_has_run(worker.key)) {
      end = WorkerEnd::kUnused;
      key.reason = ended("before its first task");
      key.blames_env = false;
    }
  }
  loop_.cancel(worker.end_timer);
  os::SharedPage page = std::move(worker.page);
  workers_.erase(found);
  events_.on_gone(process, end, facts, *static_cast<const WorkerPage*>(page.data()));
}

bool WorkerProcesses::any_has_run(WorkerKeyId key) const {
  return std::any_of(workers_.begin(), workers_.end(), [key](const auto& entry) {
    return entry.second.key == key && entry.second.view()->task_number.load(std::memory_order_relaxed) != 0;
  });
}

bool WorkerProcesses::is_fork_server(pid_t pid) const {
  return std::any_of(keys_.begin(), keys_.end(), [pid](const auto& entry) {
    const Key& key = entry.second;
    return (key.server && key.server->pid() == pid) || (key.preparation && key.preparation->pid() == pid);
  });
}

}  // namespace fray::node
