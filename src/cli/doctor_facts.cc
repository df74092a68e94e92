#include "cli/doctor_facts.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cli/program_output.h"
#include "cli/python_program.h"
#include "model/json_text.h"
#include "node/sessions/session_options.h"
#include "os/fd.h"
#include "os/files/run_folder.h"
#include "os/machine/kernel.h"
#include "os/machine/machine.h"
#include "os/memory/userfault.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kPythonPatience{20};
constexpr int kCapSysPtrace = 19;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  std::string text = read_text(path);
  return text.substr(0, text.find('\n'));
}

// The number in the line "NAME:  123 kB" of a file; 0 when there is no such line.
std::uint64_t field(const std::string& text, const std::string& name, int base = 10) {
  std::size_t at = text.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + name.size() + 2, nullptr, base);
}

void read_kernel(MachineFacts& facts) {
  utsname name{};
  if (::uname(&name) == 0) facts.kernel_release = name.release;
  Status checked = os::check_kernel();
  facts.kernel_problem = checked.is_ok() ? "" : checked.message();
  os::Fd file(::memfd_create("fray-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int kFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE
  facts.memfd_seals = file.is_open() && ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | kFutureWrite) == 0;
  facts.userfaultfd = os::open_userfault().is_open();
  facts.clock_source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

void read_cpus(MachineFacts& facts) {
  facts.online_cpus = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  facts.affinity_cpus = facts.online_cpus;
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  if (::sched_getaffinity(0, sizeof(affinity), &affinity) == 0) facts.affinity_cpus = CPU_COUNT(&affinity);
  facts.usable_cpus = os::usable_cpus();
}

void read_memory(MachineFacts& facts) {
  std::string text = "\n" + read_text("/proc/meminfo");
  facts.physical_memory = field(text, "MemTotal") * 1024;
  facts.available_memory = field(text, "MemAvailable") * 1024;
  facts.swap_total = field(text, "SwapTotal") * 1024;
  facts.swap_free = field(text, "SwapFree") * 1024;
  facts.usable_memory = os::usable_memory_bytes();
  facts.overcommit = std::atoi(first_line("/proc/sys/vm/overcommit_memory").c_str());
  std::string huge = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::size_t open = huge.find('[');
  if (open != std::string::npos) facts.shmem_huge = huge.substr(open + 1, huge.find(']') - open - 1);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    facts.shm_total = shm.f_blocks * shm.f_frsize;
    facts.shm_free = shm.f_bavail * shm.f_frsize;
  }
}

// Lines of /proc/self/cgroup: "0::/path" is version 2, "4:memory:/path" version 1.
std::string group_kind() {
  std::istringstream lines(read_text("/proc/self/cgroup"));
  bool v1 = false;
  bool v2 = false;
  for (std::string line; std::getline(lines, line);) (line.starts_with("0::") ? v2 : v1) = true;
  if (v1 && v2) return "v1 and v2";
  if (v1) return "v1";
  return v2 ? "v2" : "none";
}

void read_limits(MachineFacts& facts) {
  facts.group_kind = group_kind();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  facts.files_soft = files.rlim_cur;
  facts.files_hard = files.rlim_max;
  rlimit processes{};
  ::getrlimit(RLIMIT_NPROC, &processes);
  facts.processes = ::getuid() == 0 ? ~std::uint64_t{0} : processes.rlim_cur;
}

void read_spill_folder(MachineFacts& facts) {
  auto options = node::parse_options("{}");
  if (!options.is_ok()) {
    facts.spill_problem = options.status().message();
    return;
  }
  facts.spill_folder = options->spill_folder;
  os::Fd probe(::open(facts.spill_folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!probe.is_open() && errno != EOPNOTSUPP) {
    facts.spill_problem = fmt::format("{} cannot be written to: {}", facts.spill_folder, std::strerror(errno));
    return;
  }
  struct statvfs space {};
  if (::statvfs(facts.spill_folder.c_str(), &space) == 0) facts.spill_free = space.f_bavail * space.f_frsize;
  struct statfs kind {};
  facts.spill_in_memory =
      ::statfs(facts.spill_folder.c_str(), &kind) == 0 && (kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC);
}

int count_dead_sessions(const std::string& run_folder) {
  int dead = 0;
  std::error_code error;
  for (fs::directory_iterator entry(run_folder, error), end; !error && entry != end; entry.increment(error)) {
    os::Fd lock(::open((entry->path() / "node.lock").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (lock.is_open() && ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) ++dead;
  }
  return dead;
}

// Only looks, and creates nothing: the folder need not exist yet.
void read_run_folder(MachineFacts& facts) {
  facts.run_folder = os::run_folder_path();
  struct stat found {};
  if (::lstat(facts.run_folder.c_str(), &found) == 0) {
    Status usable = os::make_private_folder(facts.run_folder);
    facts.run_problem = usable.is_ok() ? "" : usable.message();
    facts.dead_sessions = usable.is_ok() ? count_dead_sessions(facts.run_folder) : 0;
    return;
  }
  fs::path parent = fs::path(facts.run_folder).parent_path();
  std::error_code ignored;
  while (!fs::exists(parent, ignored) && parent.has_relative_path()) parent = parent.parent_path();
  if (::access(parent.c_str(), W_OK | X_OK) != 0) {
    facts.run_problem = fmt::format("{} cannot be made: {} is {}", facts.run_folder, parent.string(),
                                    errno == ENOTDIR ? "no folder" : "not writable");
  }
}

void read_tracing(MachineFacts& facts) {
  facts.ptrace_scope = std::atoi(first_line("/proc/sys/kernel/yama/ptrace_scope").c_str());
  facts.can_trace_all = (field(read_text("/proc/self/status"), "CapEff", 16) >> kCapSysPtrace & 1u) != 0;
  facts.py_spy = find_program("py-spy");
}

void read_python(MachineFacts& facts) {
  facts.release = FRAY_VERSION;
  auto python = find_python("");
  if (!python.is_ok()) {
    facts.python_problem = python.status().message();
    return;
  }
  facts.python = *python;
  constexpr const char* kQuestion =
      "import json, platform, fray; from fray import _native\n"
      "print(json.dumps([platform.python_version(), fray.__version__, _native.RELEASE]))";
  auto answer = program_output({*python, "-P", "-c", kQuestion}, kPythonPatience);
  if (!answer.is_ok()) {
    facts.python_problem = answer.status().message();
    return;
  }
  nlohmann::json versions = parse_json(*answer);
  if (!versions.is_array() || versions.size() != 3) {
    facts.python_problem = "it did not say its versions";
    return;
  }
  facts.python_version = versions[0].get<std::string>();
  facts.package_release = versions[1].get<std::string>();
  facts.extension_release = versions[2].get<std::string>();
}

}  // namespace

MachineFacts read_machine_facts() {
  MachineFacts facts;
  read_kernel(facts);
  read_cpus(facts);
  read_memory(facts);
  read_limits(facts);
  read_spill_folder(facts);
  read_run_folder(facts);
  read_tracing(facts);
  read_python(facts);
  return facts;
}

}  // namespace fray::cli
