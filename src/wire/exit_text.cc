#include "wire/exit_text.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace fray::wire {

namespace {

std::string how_it_ended(const ExitFacts& facts) {
  if (facts.signal == 0) return fmt::format("exited with code {}", facts.exit_code);
  const char* abbreviation = ::sigabbrev_np(facts.signal);
  return fmt::format("was killed by signal {} (SIG{})", facts.signal, abbreviation != nullptr ? abbreviation : "?");
}

std::string memory_and_output(const ExitFacts& facts) {
  std::string text;
  if (!facts.out_of_memory.empty()) text += " " + facts.out_of_memory;
  if (!facts.why_killed.empty()) text += ": " + facts.why_killed;
  if (facts.peak_memory_bytes > 0) {
    text += fmt::format("; its peak memory was {:.1f} MiB", static_cast<double>(facts.peak_memory_bytes) / (1 << 20));
  }
  if (!facts.log_tail.empty()) text += "; its last output:\n" + facts.log_tail;
  return text;
}

}  // namespace

std::string describe_exit(const ExitFacts& facts) {
  return fmt::format("pid {} {}", facts.pid, how_it_ended(facts)) + memory_and_output(facts);
}

std::string describe_loss(std::string_view task, const ExitFacts& facts) {
  return fmt::format("the worker of task {} (pid {}) {}", task, facts.pid, how_it_ended(facts)) +
         memory_and_output(facts);
}

}  // namespace fray::wire
