// fray-supervisor FOLDER: runs the attempt of a job whose order lies in FOLDER. The node starts this program.
//
// Threading:  one thread.
// Ownership:  see supervisor.h.
// Failure:    exits with the codes of supervisor.h.
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "supervisor/supervisor.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: fray-supervisor FOLDER\n");
    return fray::supervisor::kExitUsage;
  }
  if (::chdir("/") != 0) return fray::supervisor::kExitFailed;
  return fray::supervisor::Supervisor(argv[1]).run();
}
