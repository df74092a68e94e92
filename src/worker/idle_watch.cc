#include "worker/idle_watch.h"

namespace fray::worker {

void IdleWatch::restart(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  since_ns_ = now_ns;
  idle_ = false;
  look_again(now_ns, cpu_ns);
}

void IdleWatch::look_again(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  undecided_ = true;
  open_window(now_ns, cpu_ns);
}

void IdleWatch::open_window(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  window_ns_ = now_ns;
  window_cpu_ns_ = cpu_ns;
}

bool IdleWatch::look(std::uint64_t now_ns, std::uint64_t cpu_ns) {
  if (now_ns - since_ns_ >= kPatienceNs) {
    idle_ = true;
    undecided_ = false;
    return idle_;
  }
  const std::uint64_t length = now_ns - window_ns_;
  if (length < kWindowNs) return idle_;
  const std::uint64_t used = cpu_ns - window_cpu_ns_;
  if (used * 4 < length) idle_ = true;
  if (used * 2 > length) idle_ = false;
  undecided_ = !idle_;
  open_window(now_ns, cpu_ns);
  return idle_;
}

}  // namespace fray::worker
