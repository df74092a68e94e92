// `fray start`: starts the node of this home, which runs until `fray stop`. The command returns once the node accepts
// clients. With --foreground this process itself becomes the node.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "base/utf8.h"
#include "cli/amount.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_http.h"
#include "cli/start_node.h"
#include "model/json_text.h"
#include "node/run_node.h"
#include "node/sessions/session_folder.h"
#include "node/sessions/session_options.h"
#include "os/files/run_folder.h"
#include "os/process/pidfd.h"

namespace fray::cli {

namespace {

constexpr std::chrono::milliseconds kLockPatience{1000};
constexpr std::chrono::milliseconds kLookPause{5};

struct StartArguments {
  std::optional<double> cpus;
  std::string memory;
  std::string store_memory;
  std::optional<double> memory_threshold;
  std::string spill_dir;
  std::string resources;
  std::optional<double> max_workers;
  std::uint16_t http_port = 0;  // 0: any that is free
  bool json = false;
  bool foreground = false;
  bool until_eof = false;
};

using nlohmann::json;

int failed(const std::string& what, int code = kExitFailed) {
  log_line("fray start: {}\n", what);
  return code;
}

Result<json> node_options(const StartArguments& arguments) {
  json options = json::object();
  const std::pair<const char*, std::optional<double>> numbers[] = {
      {"--cpus", arguments.cpus},
      {"--max-workers", arguments.max_workers},
      {"--memory-threshold", arguments.memory_threshold},
  };
  for (const auto& [name, number] : numbers) {
    if (number && !std::isfinite(*number)) {
      return Status(StatusCode::kInvalidArgument, fmt::format("{} must be a number, got {}", name, *number));
    }
  }
  if (arguments.cpus) options["cpus"] = *arguments.cpus;
  if (arguments.max_workers) options["max_workers"] = *arguments.max_workers;
  if (arguments.memory_threshold) options["memory_threshold"] = *arguments.memory_threshold;
  if (!arguments.memory.empty()) {
    FRAY_ASSIGN_OR_RETURN(options["memory_bytes"], parse_size("--memory", arguments.memory));
  }
  if (!arguments.store_memory.empty()) {
    FRAY_ASSIGN_OR_RETURN(options["store_memory_bytes"], parse_size("--store-memory", arguments.store_memory));
  }
  if (!arguments.resources.empty()) {
    FRAY_ASSIGN_OR_RETURN(options["resources"], parse_resources("--resources", arguments.resources));
  }
  if (!arguments.spill_dir.empty()) {
    if (!is_utf8(arguments.spill_dir)) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--spill-dir must be a path in UTF-8, got {}; take another folder",
                                shown_utf8(arguments.spill_dir)));
    }
    struct stat found {};
    if (::stat(arguments.spill_dir.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
        ::access(arguments.spill_dir.c_str(), W_OK | X_OK) != 0) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("--spill-dir {} is not a folder that can be written to; make it first", arguments.spill_dir));
    }
    options["spill_folder"] = arguments.spill_dir;
  }
  options["session_folder"] = os::started_node_folder();
  // Mistakes in the options are reported by this process, before a node is started.
  FRAY_RETURN_IF_ERROR(node::parse_options(json_text(options)).status());
  if (arguments.cpus && *arguments.cpus <= 0) return Status(StatusCode::kInvalidArgument, "--cpus must be above 0");
  return options;
}

int already_runs(const door::SessionInfo& session) {
  return failed(fmt::format("a node of this home runs already (pid {}, release {})\n  socket  {}\n"
                            "hint: use it with fray.init(address=\"auto\"), or end it with `fray stop`; "
                            "FRAY_HOME names another home",
                            session.process.pid, session.release, session.socket),
                kExitConflict);
}

// Whether a process has not ended; one that has, and that nobody has reaped yet, still has its name.
bool runs(const os::ProcessName& process) {
  auto pidfd = os::open_pidfd(process.pid);
  if (!pidfd.is_ok() || !process.exists()) return false;
  pollfd end{pidfd->get(), POLLIN, 0};
  return ::poll(&end, 1, 0) == 0;
}

// The node of this home. One that was killed leaves its lock, for some milliseconds, to the process that it was just
// starting.
std::optional<door::SessionInfo> find_living_node() {
  const std::string folder = os::started_node_folder();
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  auto session = door::find_session(folder);
  while (session && !runs(session->process) && std::chrono::steady_clock::now() < deadline) {
    ::poll(nullptr, 0, static_cast<int>(kLookPause.count()));  // nothing reports the end of a lock
    session = door::find_session(folder);
  }
  return session;
}

std::string next_steps(const StartedNode& node) {
  std::string text = fmt::format("node {} runs (pid {})\n  socket  {}\n", FRAY_VERSION, node.pid, node.socket);
  if (!node.log.empty()) text += fmt::format("  log     {}\n", node.log);
  text += fmt::format("  HTTP    {}  (token in {})\n", node.url, node.token_file);
  text +=
      "\nNext:\n"
      "  fray.init(address=\"auto\")                    in a program on this machine\n"
      "  FRAY_CLUSTER_SPEC='local?address=auto' ...   before a program that is not to be changed\n"
      "  fray status                                  what runs, what waits, and why\n"
      "  fray stop                                    ends the node and everything it started\n";
  return text;
}

std::string as_json(const StartedNode& node) {
  json document = {{"schema", "fray/v1"},
                   {"pid", node.pid},
                   {"socket", node.socket},
                   {"url", node.url},
                   {"token_file", node.token_file},
                   {"home", os::home_path()},
                   {"log", nullptr},
                   {"release", FRAY_VERSION},
                   {"session_folder", os::started_node_folder()}};
  if (!node.log.empty()) document["log"] = node.log;
  return json_text(document, 2) + "\n";
}

int run_in_foreground(const StartArguments& arguments, const json& options) {
  node::NodeArguments node;
  node.foreground = true;
  node.until_eof = arguments.until_eof;
  node.release = FRAY_VERSION;
  node.options_json = json_text(options);
  node.attach = with_http(arguments.http_port);
  node.on_ready = [&arguments](const std::string& socket, const std::map<std::string, std::string>& news) {
    const StartedNode started{::getpid(), socket, "", news.at("url"), news.at("token_file")};
    fmt::print("{}", (arguments.json ? as_json : next_steps)(started));
    std::fflush(stdout);
  };
  return node::run_node(node) == 0 ? kExitOk : kExitFailed;
}

int run_start(const StartArguments& arguments) {
  auto run_folder = os::open_run_folder();
  if (!run_folder.is_ok()) return failed(run_folder.status().message());
  auto options = node_options(arguments);
  if (!options.is_ok()) return failed(options.status().message(), kExitUsage);
  if (auto session = find_living_node()) return already_runs(*session);
  node::remove_stale_sessions(*run_folder);
  if (arguments.foreground) return run_in_foreground(arguments, *options);
  auto started = start_in_background(*options, arguments.http_port);
  if (!started.is_ok()) {
    if (started.status().code() == StatusCode::kTimedOut) return failed(started.status().message(), kExitTimedOut);
    if (auto session = running_node()) return already_runs(*session);
    return failed(started.status().message());
  }
  fmt::print("{}", (arguments.json ? as_json : next_steps)(*started));
  return kExitOk;
}

Command::Run add_start(CLI::App& command) {
  auto arguments = std::make_shared<StartArguments>();
  command.add_option("--cpus", arguments->cpus, "CPUs for tasks; by default what the container and the affinity give");
  command.add_option("--memory", arguments->memory, "Memory for tasks, such as 8GiB");
  command.add_option("--memory-threshold", arguments->memory_threshold,
                     "Share of the memory above which tasks are ended, such as 0.9");
  command.add_option("--store-memory", arguments->store_memory, "Memory for objects before they spill, such as 2GiB");
  command.add_option("--spill-dir", arguments->spill_dir, "Folder that objects spill to");
  command.add_option("--resources", arguments->resources, R"(Further resources: {"TPU": 4} or TPU:4,head_node:1)");
  command.add_option("--max-workers", arguments->max_workers, "Most worker processes at once");
  command.add_option("--http-port", arguments->http_port, "Port of the HTTP API on 127.0.0.1; any if not given");
  CLI::Option* foreground =
      command.add_flag("--foreground", arguments->foreground, "Run the node in this process, until Ctrl-C");
  command.add_flag("--until-eof", arguments->until_eof, "End when standard input ends, which must be a pipe")
      ->needs(foreground);
  command.add_flag("--json", arguments->json, "One JSON document");
  return [arguments] { return run_start(*arguments); };
}

const Command kStart("start", "Start the node of this home, which lives until `fray stop`", add_start);

}  // namespace

}  // namespace fray::cli
