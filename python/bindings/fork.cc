// fork_below for Python: os.fork(), but that the copy is the child of a program.

#include "functions.h"
#include "os/process/fork_below.h"

namespace fray::python {

Answer<bool> fork_below(const FileNames& command, const std::vector<int>& fds) {
  os::ProgramAbove program;
  for (const FileName& part : command) program.command.push_back(part.bytes);
  program.fds = fds;
  PyOS_BeforeFork();
  Result<os::Forked> forked = os::fork_below(program);
  const bool is_copy = forked.is_ok() && *forked == os::Forked::kCopy;
  if (is_copy) {
    PyOS_AfterFork_Child();
  } else {
    PyOS_AfterFork_Parent();
  }
  if (!forked.is_ok()) {
    raise_status(forked.status());
    return Raised();
  }
  return is_copy;
}

}  // namespace fray::python
