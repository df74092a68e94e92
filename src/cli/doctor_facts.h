// MachineFacts: what `fray doctor` knows about this machine. read_machine_facts() collects it.
//
// Threading:  one thread.
// Ownership:  a value.
// Failure:    a fact that cannot be read keeps its default, which means "not known" where a comment says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fray::cli {

struct MachineFacts {
  std::string kernel_release;
  std::string kernel_problem;  // empty: the engine runs on it
  bool memfd_seals = false;
  bool userfaultfd = false;

  double online_cpus = 0;
  double affinity_cpus = 0;
  double usable_cpus = 0;
  std::string clock_source;  // empty: not known

  std::uint64_t physical_memory = 0;
  std::uint64_t usable_memory = 0;
  std::uint64_t available_memory = 0;
  std::uint64_t swap_total = 0;
  std::uint64_t swap_free = 0;
  int overcommit = 0;           // /proc/sys/vm/overcommit_memory
  std::string shmem_huge;       // the value that is selected in shmem_enabled; empty: not known
  std::uint64_t shm_total = 0;  // of /dev/shm; 0: there is none
  std::uint64_t shm_free = 0;
  std::string group_kind;  // "v1", "v2", "v1 and v2", "none"

  std::uint64_t files_soft = 0;
  std::uint64_t files_hard = 0;
  std::uint64_t processes = 0;  // most processes of this user; ~0: no limit

  std::string spill_folder;
  std::string spill_problem;  // empty: it can be written to
  bool spill_in_memory = false;
  std::uint64_t spill_free = 0;

  std::string run_folder;
  std::string run_problem;  // empty: it can be used
  int dead_sessions = 0;

  int ptrace_scope = 0;
  bool can_trace_all = false;  // CAP_SYS_PTRACE
  std::string py_spy;          // its path; empty: not there

  std::string release;         // of this program
  std::string python;          // its path; empty: not there
  std::string python_problem;  // why Python could not be found or started, or fray not be imported; empty: none
  std::string python_version;
  std::string package_release;
  std::string extension_release;
};

MachineFacts read_machine_facts();

}  // namespace fray::cli
