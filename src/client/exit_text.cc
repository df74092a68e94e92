#include "client/exit_text.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace fray::client {

std::string describe_loss(std::string_view task, const wire::ExitFacts& facts) {
  std::string how;
  if (facts.signal != 0) {
    const char* abbreviation = ::sigabbrev_np(facts.signal);
    how = fmt::format("was killed by signal {} (SIG{})", facts.signal, abbreviation != nullptr ? abbreviation : "?");
  } else {
    how = fmt::format("exited with code {}", facts.exit_code);
  }
  std::string text = fmt::format("the worker of task {} (pid {}) {}", task, facts.pid, how);
  if (facts.peak_memory_bytes > 0) {
    text += fmt::format("; its peak memory was {:.1f} MiB", static_cast<double>(facts.peak_memory_bytes) / (1 << 20));
  }
  if (!facts.log_tail.empty()) text += "; its last output:\n" + facts.log_tail;
  return text;
}

}  // namespace fray::client
