#include "cli/doctor_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/amount_text.h"

namespace fray::cli {

namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kGiB = 1ull << 30;
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::size_t kLongestSocketPath = 107;
constexpr std::size_t kSocketNameBytes = sizeof("/01234567/node.sock") - 1;

Finding good(std::string check, std::string found) { return {std::move(check), Verdict::kGood, std::move(found), ""}; }
Finding notice(std::string check, std::string found, std::string remedy) {
  return {std::move(check), Verdict::kNotice, std::move(found), std::move(remedy)};
}
Finding bad(std::string check, std::string found, std::string remedy) {
  return {std::move(check), Verdict::kBad, std::move(found), std::move(remedy)};
}

std::string limit(std::uint64_t amount) { return amount == kNoLimit ? "no limit" : fmt::format("{}", amount); }

Finding kernel(const MachineFacts& facts) {
  if (facts.kernel_problem.empty()) return good("kernel", "Linux " + facts.kernel_release);
  return bad(
      "kernel", facts.kernel_problem,
      "use Linux 5.4 or later, and a container whose seccomp profile allows pidfd_open; in-process contexts work");
}

Finding memory_files(const MachineFacts& facts) {
  if (facts.memfd_seals) return good("memory files", "memfd_create and its seals work");
  return bad("memory files", "memfd_create or F_SEAL_FUTURE_WRITE is refused",
             "allow memfd_create in the container's seccomp profile; the object store needs it");
}

Finding page_fills(const MachineFacts& facts) {
  if (facts.userfaultfd) return good("userfaultfd", "large values fill their pages without zeroing");
  return notice("userfaultfd",
                "refused; it takes longer to write large values, and to compare arrays that functions read",
                "optional: allow the system call in the rules of the container (seccomp)");
}

Finding cpus(const MachineFacts& facts) {
  std::string found =
      fmt::format("{:g} of {:g} (affinity {:g})", facts.usable_cpus, facts.online_cpus, facts.affinity_cpus);
  if (facts.usable_cpus >= facts.affinity_cpus) return good("cpus", found);
  return notice("cpus", found + ", the rest is kept back by a quota of the control group",
                "nothing, if that is meant; else raise the container's CPU limit");
}

Finding clock(const MachineFacts& facts) {
  bool slow = facts.clock_source == "hpet" || facts.clock_source == "acpi_pm" || facts.clock_source == "jiffies" ||
              facts.clock_source == "xen";
  if (!slow) return good("clock", facts.clock_source.empty() ? "not known" : facts.clock_source);
  return notice("clock", facts.clock_source + " is read by a system call; each task costs some microseconds more",
                "boot with clocksource=tsc where the machine has a stable one");
}

Finding memory(const MachineFacts& facts) {
  std::string found = fmt::format("{} of {} usable, {} available", bytes_text(facts.usable_memory),
                                  bytes_text(facts.physical_memory), bytes_text(facts.available_memory));
  if (facts.usable_memory < 512 * kMiB) {
    return notice("memory", found, "raise the container's memory limit, or use few workers: fray.init(max_workers=2)");
  }
  if (facts.available_memory < 256 * kMiB) return notice("memory", found, "end other programs; workers may be killed");
  return good("memory", found);
}

Finding control_groups(const MachineFacts& facts) { return good("control groups", facts.group_kind); }

Finding overcommit(const MachineFacts& facts) {
  if (facts.overcommit != 2) return good("overcommit", fmt::format("vm.overcommit_memory={}", facts.overcommit));
  return notice("overcommit", "vm.overcommit_memory=2 counts every reserved page",
                "set vm.overcommit_memory to 0 or 1 when workers fail to start with \"Cannot allocate memory\"");
}

Finding swap(const MachineFacts& facts) {
  if (facts.swap_total == 0) return good("swap", "none");
  std::string found = fmt::format("{} of {} free", bytes_text(facts.swap_free), bytes_text(facts.swap_total));
  if (facts.swap_free * 2 >= facts.swap_total) return good("swap", found);
  return notice("swap", found, "the machine swaps: lower fray.init(store_memory=...), so that Fray spills instead");
}

Finding huge_pages(const MachineFacts& facts) {
  if (facts.shmem_huge.empty()) return good("huge pages", "not known");
  bool helpful = facts.shmem_huge == "always" || facts.shmem_huge == "within_size";
  std::string found = "of shared memory: " + facts.shmem_huge;
  if (helpful) return good("huge pages", found);
  return good("huge pages", found + "; \"within_size\" makes large arrays cheaper to map");
}

Finding shared_memory(const MachineFacts& facts) {
  std::string found = facts.shm_total == 0
                          ? "there is no /dev/shm"
                          : fmt::format("{} of {} free", bytes_text(facts.shm_free), bytes_text(facts.shm_total));
  if (facts.shm_total >= 256 * kMiB) return good("/dev/shm", found);
  return notice("/dev/shm", found + "; Fray does not use it, but multiprocessing and PyTorch in your tasks do",
                "start the container with --shm-size=1g");
}

Finding files(const MachineFacts& facts) {
  std::string found =
      fmt::format("{} open files; may be raised to {}", limit(facts.files_soft), limit(facts.files_hard));
  if (facts.files_hard >= 4096) return good("descriptors", found);
  std::string remedy = "raise it: ulimit -Hn 65536, or --ulimit nofile=65536 for a container";
  if (facts.files_hard >= 256) return notice("descriptors", found, remedy);
  return bad("descriptors", found, remedy);
}

Finding processes(const MachineFacts& facts) {
  std::string found = limit(facts.processes) + " for processes and threads";
  if (facts.processes >= 1024) return good("processes", found);
  std::string remedy = "raise ulimit -u, or the container's --pids-limit";
  if (facts.processes >= 64) return notice("processes", found, remedy);
  return bad("processes", found, remedy);
}

Finding spill(const MachineFacts& facts) {
  std::string remedy = "name another folder: fray.init(spill_dir=...)";
  if (!facts.spill_problem.empty()) return bad("spill folder", facts.spill_problem, remedy);
  std::string found = fmt::format("{} has {} free", facts.spill_folder, bytes_text(facts.spill_free));
  if (facts.spill_in_memory) return notice("spill folder", found + ", but it lies in memory itself", remedy);
  if (facts.spill_free < kGiB) return notice("spill folder", found, "make room, or " + remedy);
  return good("spill folder", found);
}

Finding run_folder(const MachineFacts& facts) {
  if (!facts.run_problem.empty()) {
    return bad("run folder", facts.run_problem, "set FRAY_HOME to a folder of yours that others cannot enter");
  }
  if (facts.run_folder.size() + kSocketNameBytes > kLongestSocketPath) {
    return bad("run folder",
               fmt::format("{} makes socket paths of {} bytes; {} are possible", facts.run_folder,
                           facts.run_folder.size() + kSocketNameBytes, kLongestSocketPath),
               "set FRAY_HOME to a folder with a shorter path");
  }
  if (facts.dead_sessions > 0) {
    return good("run folder", fmt::format("{}, with {} folders of ended nodes, which the next node removes",
                                          facts.run_folder, facts.dead_sessions));
  }
  return good("run folder", facts.run_folder);
}

Finding stacks(const MachineFacts& facts) {
  if (facts.py_spy.empty()) {
    return notice("stacks", "py-spy is not installed; `fray stack` asks the processes themselves",
                  "optional: pip install py-spy, which also shows processes that do not answer");
  }
  if (facts.ptrace_scope > 0 && !facts.can_trace_all) {
    return notice("stacks", fmt::format("kernel.yama.ptrace_scope={} keeps py-spy out", facts.ptrace_scope),
                  "optional: sysctl kernel.yama.ptrace_scope=0; until then `fray stack` asks the processes themselves");
  }
  return good("stacks", facts.py_spy);
}

Finding python(const MachineFacts& facts) {
  if (!facts.python_problem.empty()) {
    return bad("python", facts.python.empty() ? facts.python_problem : facts.python + ": " + facts.python_problem,
               "install Fray there: pip install fray");
  }
  std::string found = fmt::format("{} (Python {})", facts.python, facts.python_version);
  if (facts.package_release == facts.release && facts.extension_release == facts.release) {
    return good("python", fmt::format("{}, all parts of release {}", found, facts.release));
  }
  return bad("python",
             fmt::format("{} has the package {} and the extension {}, but this program is {}", found,
                         facts.package_release, facts.extension_release, facts.release),
             "install one release: pip install --force-reinstall fray; `which -a fray` shows other programs");
}

}  // namespace

std::vector<Finding> judge(const MachineFacts& facts) {
  return {kernel(facts),        memory_files(facts), page_fills(facts),     cpus(facts),       clock(facts),
          memory(facts),        swap(facts),         control_groups(facts), overcommit(facts), huge_pages(facts),
          shared_memory(facts), files(facts),        processes(facts),      spill(facts),      run_folder(facts),
          python(facts),        stacks(facts)};
}

}  // namespace fray::cli
