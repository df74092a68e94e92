#include "os/limits/process_limits.h"

#include <fstream>

#include <fmt/format.h>

namespace fray::os {

namespace {
constexpr const char* kLateScore = "-900";
}

ProcessLimits ProcessLimits::raise() {
  ProcessLimits before;
  if (::getrlimit(RLIMIT_NOFILE, &before.files_) == 0 && before.files_.rlim_cur < before.files_.rlim_max) {
    rlimit raised = before.files_;
    raised.rlim_cur = raised.rlim_max;
    before.files_changed_ = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
  std::string score;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  std::ofstream file("/proc/self/oom_score_adj");
  file << kLateScore << std::flush;
  if (file.good()) before.oom_score_ = score;
  return before;
}

void ProcessLimits::restore_in(pid_t child) const {
  if (files_changed_) ::prlimit(child, RLIMIT_NOFILE, &files_, nullptr);
  if (!oom_score_.empty()) std::ofstream(fmt::format("/proc/{}/oom_score_adj", child)) << oom_score_ << std::flush;
}

}  // namespace fray::os
