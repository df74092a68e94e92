#include "client/worker_log.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "os/terminal_style.h"

namespace fray::client {

void print_worker_log(const wire::Log& log) {
  std::string prefix =
      log.task.empty() ? fmt::format("(pid={}) ", log.pid) : fmt::format("({} pid={}) ", log.task, log.pid);
  int fd = log.stream == 1 ? STDOUT_FILENO : STDERR_FILENO;
  prefix = os::choose_style("auto", os::surroundings_of(fd)).of_process(prefix, log.pid);
  std::string out;
  std::string_view text = log.text;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    out += prefix;
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  [[maybe_unused]] ssize_t written = ::write(fd, out.data(), out.size());
}

}  // namespace fray::client
