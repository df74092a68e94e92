#include "cli/start_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/exit_codes.h"
#include "cli/node_http.h"
#include "door/start_node.h"
#include "model/json_text.h"
#include "node/run_node.h"
#include "node/session_folder.h"
#include "node/session_options.h"
#include "os/run_folder.h"

namespace fray::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kStartPatience{30};
constexpr off_t kLargestLog = off_t{16} << 20;  // then it is put aside
constexpr std::size_t kTailLines = 20;

int failed(const std::string& what, int code = kExitFailed) {
  fmt::print(stderr, "fray start: {}\n", what);
  return code;
}

Result<json> node_options(const StartArguments& arguments) {
  json options = json::object();
  if (arguments.cpus) options["cpus"] = *arguments.cpus;
  if (arguments.max_workers) options["max_workers"] = *arguments.max_workers;
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
  // Mistakes are told here, where they were made.
  FRAY_RETURN_IF_ERROR(node::parse_options(json_text(options)).status());
  if (arguments.cpus && *arguments.cpus <= 0) return Status(StatusCode::kInvalidArgument, "--cpus must be above 0");
  return options;
}

struct LogFile {
  std::string path;
  os::Fd fd;
  off_t begin = 0;  // of what this start writes

  static Result<LogFile> open() {
    FRAY_ASSIGN_OR_RETURN(std::string folder, os::open_home_folder("logs"));
    LogFile log;
    log.path = folder + "/node.log";
    struct stat found {};
    if (::lstat(log.path.c_str(), &found) == 0 && found.st_size > kLargestLog) {
      ::rename(log.path.c_str(), (log.path + ".1").c_str());
    }
    log.fd = os::Fd(::open(log.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!log.fd.is_open()) return Status::io_error("cannot open the log " + log.path, errno);
    log.begin = ::lseek(log.fd.get(), 0, SEEK_END);
    return log;
  }

  std::string tail() const {
    std::ifstream file(path);
    file.seekg(begin);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    std::string text;
    for (std::size_t i = lines.size() - std::min(lines.size(), kTailLines); i < lines.size(); ++i) {
      text += "  " + lines[i] + "\n";
    }
    return text;
  }
};

int already_runs(const door::SessionInfo& session) {
  return failed(fmt::format("a node of this home runs already (pid {}, release {})\n  socket  {}\n"
                            "hint: use it with fray.init(address=\"auto\"), or end it with `fray stop`; "
                            "FRAY_HOME names another home",
                            session.process.pid, session.release, session.socket),
                kExitConflict);
}

// What a node says of itself once it runs.
struct Started {
  pid_t pid = 0;
  std::string socket;
  std::string log;  // empty: it has none
  std::string url;
  std::string token_file;
};

std::string next_steps(const Started& node) {
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

std::string as_json(const Started& node) {
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
  node.release = FRAY_VERSION;
  node.options_json = json_text(options);
  node.attach = with_http(arguments.http_port);
  node.on_ready = [&arguments](const std::string& socket, const std::map<std::string, std::string>& news) {
    const Started started{::getpid(), socket, "", news.at("url"), news.at("token_file")};
    fmt::print("{}", (arguments.json ? as_json : next_steps)(started));
    std::fflush(stdout);
  };
  return node::run_node(node) == 0 ? kExitOk : kExitFailed;
}

// Starts the node in a process of its own, and waits until it accepts clients.
Result<Started> start_in_background(const json& options, std::uint16_t http_port) {
  FRAY_ASSIGN_OR_RETURN(LogFile log, LogFile::open());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  auto news = door::start_lasting_node(error ? "/proc/self/exe" : program,
                                       {"--options-json", json_text(options), "--http-port", std::to_string(http_port)},
                                       log.fd, door::Patience::of(kStartPatience));
  if (news.is_ok()) {
    return Started{news->value("pid", 0), news->value("socket", ""), log.path, news->value("url", ""),
                   news->value("token_file", "")};
  }
  if (news.status().code() == StatusCode::kTimedOut) {
    return Status(StatusCode::kTimedOut, "the node does not get ready; its log is " + log.path);
  }
  return Status(news.status().code(),
                fmt::format("{}; the end of {}:\n{}", news.status().message(), log.path, log.tail()));
}

// The node of this home, once it accepts clients: of several that are started at once one goes on.
std::optional<door::SessionInfo> running_node() {
  return door::await_session(os::started_node_folder(), door::Patience::of(kStartPatience));
}

}  // namespace

int run_start(const StartArguments& arguments) {
  auto run_folder = os::open_run_folder();
  if (!run_folder.is_ok()) return failed(run_folder.status().message());
  auto options = node_options(arguments);
  if (!options.is_ok()) return failed(options.status().message(), kExitUsage);
  if (auto session = door::find_session(os::started_node_folder())) return already_runs(*session);
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

Result<door::SessionInfo> start_node_of_home() {
  FRAY_ASSIGN_OR_RETURN(std::string run_folder, os::open_run_folder());
  node::remove_stale_sessions(run_folder);
  FRAY_ASSIGN_OR_RETURN(json options, node_options({}));
  auto started = start_in_background(options, 0);
  auto session = running_node();
  if (!session && !started.is_ok()) return started.status();
  if (!session) return Status(StatusCode::kUnavailable, "the node that was started has ended; see " + started->log);
  if (started.is_ok()) {
    fmt::print(stderr, "started a node, for none ran (pid {}); `fray stop` ends it\n", started->pid);
  }
  return std::move(*session);
}

}  // namespace fray::cli
