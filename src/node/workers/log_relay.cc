#include "node/workers/log_relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "wire/process.h"

namespace fray::node {

namespace {
constexpr std::size_t kReadChunk = 64u << 10;
constexpr int kLastReads = 64;  // from the pipe of a dead worker: another process may hold it and write on
}  // namespace

LogRelay::~LogRelay() {
  for (auto& [worker, source] : sources_) {
    for (Stream& stream : source->streams) stop_watching(stream);
  }
}

Status LogRelay::attach(ProcessId worker, os::Fd standard_output, os::Fd standard_error, const WorkerPage* page) {
  auto source = std::make_unique<Source>();
  source->page = page;
  source->streams[0].pipe = std::move(standard_output);
  source->streams[1].pipe = std::move(standard_error);
  sources_[worker] = std::move(source);
  FRAY_RETURN_IF_ERROR(watch(worker, 0));
  return watch(worker, 1);
}

void LogRelay::set_pid(ProcessId worker, std::int32_t pid) {
  if (auto found = sources_.find(worker); found != sources_.end()) found->second->pid = pid;
}

Status LogRelay::watch(ProcessId worker, std::size_t index) {
  Stream& stream = sources_.at(worker)->streams[index];
  FRAY_RETURN_IF_ERROR(
      loop_.add(stream.pipe.get(), EPOLLIN, [this, worker, index](std::uint32_t) { ready(worker, index); }));
  stream.watched = true;
  return Status::ok();
}

void LogRelay::stop_watching(Stream& stream) {
  if (stream.watched) loop_.remove(stream.pipe.get());
  stream.watched = false;
}

bool LogRelay::must_pause(ProcessId worker) const {
  std::vector<Connection*> audience = audience_(worker);
  return std::any_of(audience.begin(), audience.end(), [](const Connection* driver) {
    return driver->holds_output || driver->backlog_bytes() > kPauseBacklog;
  });
}

void LogRelay::ready(ProcessId worker, std::size_t index) {
  auto found = sources_.find(worker);
  if (found == sources_.end()) return;
  Source& source = *found->second;
  if (must_pause(worker)) {
    stop_watching(source.streams[index]);
    paused_.emplace_back(worker, index);
    return;
  }
  bool ended = false;
  read_once(worker, source, index, &ended);
  forward(worker, source, index, ended);
  if (!ended) return;
  stop_watching(source.streams[index]);
  source.streams[index].pipe.reset();
}

bool LogRelay::read_once(ProcessId worker, Source& source, std::size_t index, bool* ended) {
  Stream& stream = source.streams[index];
  std::array<char, kReadChunk> chunk;
  ssize_t got = ::read(stream.pipe.get(), chunk.data(), chunk.size());
  if (got <= 0) {
    *ended = got == 0 || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  std::string_view text(chunk.data(), static_cast<std::size_t>(got));
  source.tail.append(text);
  stream.line.append(text);
  forward(worker, source, index, false);
  return true;
}

void LogRelay::forward(ProcessId worker, Source& source, std::size_t index, bool all) {
  std::string& line = source.streams[index].line;
  std::size_t end = line.rfind('\n');
  std::size_t size = end == std::string::npos ? 0 : end + 1;
  bool cut = all || line.size() - size >= kLongestLine;
  if (cut) size = line.size();
  if (size == 0) return;
  wire::Log message;
  message.pid = source.pid;
  message.stream = static_cast<std::uint8_t>(index + 1);
  message.task = source.page != nullptr ? source.page->task_name() : std::string();
  message.text = line.substr(0, size);
  if (message.text.back() != '\n') message.text += '\n';
  line.erase(0, size);
  for (Connection* driver : audience_(worker)) driver->send(wire::ControlType::kLog, 0, message);
}

void LogRelay::note(ProcessId worker, const std::string& line) {
  auto found = sources_.find(worker);
  if (found == sources_.end()) return;
  wire::Log message;
  message.pid = found->second->pid;
  message.stream = 2;
  message.task = found->second->page->running_task();
  message.text = line + "\n";
  for (Connection* driver : audience_(worker)) driver->send(wire::ControlType::kLog, 0, message);
}

std::string LogRelay::finish(ProcessId worker) {
  auto found = sources_.find(worker);
  if (found == sources_.end()) return {};
  Source& source = *found->second;
  for (std::size_t index = 0; index < source.streams.size(); ++index) {
    Stream& stream = source.streams[index];
    bool ended = !stream.pipe.is_open();
    for (int reads = 0; reads < kLastReads && !ended; ++reads) {
      if (!read_once(worker, source, index, &ended)) break;
    }
    forward(worker, source, index, true);
    stop_watching(stream);
  }
  std::string tail = source.tail.text();
  sources_.erase(found);
  return tail;
}

void LogRelay::resume() {
  if (paused_.empty()) return;
  for (auto [worker, index] : std::exchange(paused_, {})) {
    if (!sources_.contains(worker)) continue;
    if (must_pause(worker) || !watch(worker, index).is_ok()) paused_.emplace_back(worker, index);
  }
}

}  // namespace fray::node
