#include "os/machine/cpu_gauge.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

#include "os/machine/machine.h"

namespace fray::os {

double CpuGauge::busy() {
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, waits = 0, irq = 0, soft = 0, stolen = 0;
  const std::string text = read_text("/proc/stat");
  if (std::sscanf(text.c_str(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waits,
                  &irq, &soft, &stolen) < 4) {
    return 0;
  }
  const std::uint64_t idle_now = idle + waits;
  const std::uint64_t all_now = user + nice + system + idle + waits + irq + soft + stolen;
  const std::uint64_t all_before = std::exchange(all_, all_now);
  const std::uint64_t idle_before = std::exchange(idle_, idle_now);
  if (all_before == 0 || all_now <= all_before) return 0;
  const auto passed = static_cast<double>(all_now - all_before);
  const auto idled = static_cast<double>(idle_now - std::min(idle_now, idle_before));
  const auto cpus = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp((passed - idled) / passed, 0.0, 1.0) * cpus;
}

}  // namespace fray::os
