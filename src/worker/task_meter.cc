#include "worker/task_meter.h"

#include <ctime>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace fray::worker {

namespace {

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

// CPU time of all threads of this process, and of its children that were waited for.
std::uint64_t cpu_ns() {
  timespec own{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  return static_cast<std::uint64_t>(own.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(own.tv_nsec) +
         nanoseconds(children.ru_utime) + nanoseconds(children.ru_stime);
}

// Sets the recorded peak to the memory that is resident now.
bool reset_peak() {
  int fd = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = ::write(fd, "5", 1) == 1;
  ::close(fd);
  return done;
}

// Not VmHWM of /proc/self/status, which says the same: to have that file written takes 15 us, and a descriptor.
std::uint64_t read_peak() {
  rusage own{};
  if (::getrusage(RUSAGE_SELF, &own) != 0) return wire::ResultHead::kNotMeasured;
  return static_cast<std::uint64_t>(own.ru_maxrss) * 1024;
}

}  // namespace

void TaskMeter::begin(std::uint64_t function) {
  if (last_ == nullptr || function != function_) {
    function_ = function;
    last_ = &last_duration_ns_.try_emplace(function, kNeverRan).first->second;
  }
  measures_cpu_ = *last_ >= kMeasureCpuFromNs;
  if (!measures_cpu_) return;
  measures_memory_ = *last_ >= kMeasureMemoryFromNs && reset_peak();
  cpu_before_ns_ = cpu_ns();
}

void TaskMeter::forget(std::uint64_t function) {
  last_duration_ns_.erase(function);
  last_ = nullptr;
}

TaskCost TaskMeter::end(std::uint64_t duration_ns) {
  TaskCost cost;
  *last_ = duration_ns;
  if (!measures_cpu_) return cost;
  cost.cpu_ns = cpu_ns() - cpu_before_ns_;
  if (measures_memory_) cost.peak_memory_bytes = read_peak();
  measures_memory_ = false;
  return cost;
}

}  // namespace fray::worker
