#include "capi/span_exporter.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi/program.h"
#include "os/process/spawn.h"
#include "os/sockets/socket_pair.h"

namespace fray::capi {

namespace {

constexpr int kExporterFd = 3;                      // the same number as in fray._cpp_exporter
constexpr std::chrono::seconds kExportPatience{6};  // the process may still be starting
constexpr const char* kServiceVariable = "OTEL_SERVICE_NAME";

// The name is the same for all programs with this service and these settings of OpenTelemetry: it makes no difference
// which of them exports a span.
std::string pipe_name(const std::string& service) {
  std::string text = service;
  for (const auto& [name, value] : os::own_environment()) {
    if (name.starts_with("OTEL_")) text += fmt::format("\n{}={}", name, value);
  }
  return fmt::format("{:016x}", std::hash<std::string>()(text));
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

SpanExporter SpanExporter::of_program() {
  SpanExporter made;
  const char* given = std::getenv(kServiceVariable);
  std::error_code ignored;
  made.service_ = given != nullptr && *given != '\0'
                      ? given
                      : std::filesystem::read_symlink("/proc/self/exe", ignored).filename().string();
  made.worker_variables_ = {{kServiceVariable, made.service_}, {kSpansVariable, pipe_name(made.service_)}};
  return made;
}

std::unique_ptr<Spans> SpanExporter::begin(const std::string& folder, const std::string& python) {
  if (worker_variables_.empty()) return nullptr;
  auto spans = std::make_unique<Spans>(folder, worker_variables_.at(kSpansVariable), true);
  const std::string interpreter = find_interpreter(python);
  if (interpreter.empty() || !spans->make_pipe()) return nullptr;
  auto ends = os::make_socket_pair();
  if (!ends.is_ok()) return nullptr;
  os::SpawnRequest request;
  request.command = {interpreter, "-P", "-m", "fray._cpp_exporter", spans->path(), service_};
  request.environment = os::own_environment();
  request.fds = {{ends->second.get(), kExporterFd}};
  request.standard_error = ::fcntl(STDERR_FILENO, F_GETFD) >= 0 ? STDERR_FILENO : -1;
  auto started = os::spawn(request);
  if (!started.is_ok()) return nullptr;
  starter_ = *started;
  socket_ = std::move(ends->first);
  return spans;
}

void SpanExporter::end() {
  if (!socket_.is_open()) return;
  ::shutdown(socket_.get(), SHUT_WR);
  const auto deadline = std::chrono::steady_clock::now() + kExportPatience;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd set{socket_.get(), POLLIN, 0};
    // The process sends nothing, so the socket is readable when the process has ended.
    if (left <= 0 || ::poll(&set, 1, static_cast<int>(left)) >= 0 || errno != EINTR) break;
  }
  socket_.reset();
  reap(starter_);
}

}  // namespace fray::capi
