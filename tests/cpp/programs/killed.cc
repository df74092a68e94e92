// A driver that is killed: its task writes its process id into the pipe of argv[1] and goes on for ever.
#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fray/api.h>

int tells_its_pid(std::string pipe) {
  std::ofstream(pipe) << ::getpid() << '\n';
  while (true) ::pause();
}
FRAY_TASK(tells_its_pid);

int main(int, char** argv) {
  auto session = fray::connect({.cpus = 1}).value_or_throw();
  std::fprintf(stderr, "%s\n", fray::get(fray::submit(tells_its_pid, argv[1])).status().message().c_str());
  return 1;
}
