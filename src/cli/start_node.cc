#include "cli/start_node.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "door/start_node.h"
#include "model/json_text.h"
#include "node/sessions/session_folder.h"
#include "os/fd.h"
#include "os/files/run_folder.h"

namespace fray::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kStartPatience{30};
constexpr off_t kLargestLog = off_t{16} << 20;  // a larger one is renamed, and a new one is begun
constexpr std::size_t kTailLines = 20;

struct LogFile {
  std::string path;
  os::Fd fd;
  off_t begin = 0;  // where the output of this start begins

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

}  // namespace

Result<StartedNode> start_in_background(const json& options, std::uint16_t http_port) {
  FRAY_ASSIGN_OR_RETURN(LogFile log, LogFile::open());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  auto news = door::start_lasting_node(error ? "/proc/self/exe" : program,
                                       {"--options-json", json_text(options), "--http-port", std::to_string(http_port)},
                                       log.fd, door::Patience::of(kStartPatience));
  if (news.is_ok()) {
    return StartedNode{news->value("pid", 0), news->value("socket", ""), log.path, news->value("url", ""),
                       news->value("token_file", "")};
  }
  if (news.status().code() == StatusCode::kTimedOut) {
    return Status(StatusCode::kTimedOut, "the node does not get ready; its log is " + log.path);
  }
  return Status(news.status().code(),
                fmt::format("{}; the end of {}:\n{}", news.status().message(), log.path, log.tail()));
}

std::optional<door::SessionInfo> running_node() {
  return door::await_session(os::started_node_folder(), door::Patience::of(kStartPatience));
}

Result<door::SessionInfo> start_node_of_home() {
  FRAY_ASSIGN_OR_RETURN(std::string run_folder, os::open_run_folder());
  node::remove_stale_sessions(run_folder);
  auto started = start_in_background({{"session_folder", os::started_node_folder()}}, 0);
  auto session = running_node();
  if (!session && !started.is_ok()) return started.status();
  if (!session) return Status(StatusCode::kUnavailable, "the node that was started has ended; see " + started->log);
  if (started.is_ok()) {
    log_line("started a node, for none ran (pid {}); `fray stop` ends it\n", started->pid);
  }
  return std::move(*session);
}

}  // namespace fray::cli
