#include "cli/interrupt.h"

#include <csignal>

namespace fray::cli {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) { interrupted = 1; }

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace fray::cli
