#include "cli/job_session.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_codes.h"
#include "cli/node_choice.h"
#include "node/session_folder.h"
#include "os/run_folder.h"
#include "os/spawn.h"

namespace fray::cli {

namespace {

volatile std::sig_atomic_t interrupt_came = 0;

void note_interrupt(int) { interrupt_came = 1; }

// `fray start`, by this program; what it says goes to standard error.
std::string start_node(const std::string& command) {
  std::array<char, 4096> program{};
  const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  os::SpawnRequest request;
  request.command = {size > 0 ? std::string(program.data(), static_cast<std::size_t>(size)) : "fray", "start",
                     "--json"};
  request.environment = os::own_environment();
  request.standard_error = 2;
  auto child = os::spawn(request);
  int status = 0;
  if (child.is_ok()) ::waitpid(*child, &status, 0);
  auto session = node::find_session(os::started_node_folder());
  if (!session) {
    fmt::print(stderr, "fray {}: no node could be started\n", command);
    return {};
  }
  fmt::print(stderr, "started a node, for none ran (pid {}); `fray stop` ends it\n", session->process.pid);
  return session->socket;
}

}  // namespace

std::unique_ptr<JobSession> JobSession::open(const std::string& command, const std::string& socket, bool start) {
  std::string chosen = socket;
  const char* own = std::getenv("FRAY_NODE");
  if (chosen.empty() && own != nullptr) chosen = own;  // inside a job
  if (chosen.empty()) {
    if (auto session = node::find_session(os::started_node_folder())) chosen = session->socket;
  }
  if (chosen.empty()) chosen = start ? start_node(command) : choose_node(command + " --socket", "");
  if (chosen.empty()) return nullptr;
  return std::unique_ptr<JobSession>(new JobSession(command, chosen));
}

bool JobSession::interrupted() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = note_interrupt;  // without SA_RESTART: a wait ends
    ::sigaction(SIGINT, &action, nullptr);
    return true;
  }();
  return installed && interrupt_came != 0;
}

int JobSession::failed(const Status& status) const {
  fmt::print(stderr, "fray {}: {}\n", command_, status.message());
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return kExitFailed;  // the words were right: the node refuses what they ask for
    case StatusCode::kResourceExhausted:
    case StatusCode::kIoError:
      return kExitDisk;
    default:
      return exit_code_of(status.code());
  }
}

int JobSession::detached(const std::string& id) const {
  fmt::print(stderr,
             "\nthe job goes on. Next:\n"
             "  fray job logs -f {0}   follows it again\n"
             "  fray job stop {0}      ends it\n",
             id);
  return kExitInterrupted;
}

Result<double> parse_span(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double factor = -1;
  if (unit.empty() || unit == "s") factor = 1;
  if (unit == "m" || unit == "min") factor = 60;
  if (unit == "h") factor = 3600;
  if (unit == "d") factor = 86400;
  if (end == text.c_str() || factor < 0 || !std::isfinite(number) || number < 0) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} must be a time such as 30, 30s, 10m, 2h or 1d, got '{}'", option, text));
  }
  return number * factor;
}

}  // namespace fray::cli
