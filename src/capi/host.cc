// The host program of C++ workers: fray-cpp-worker (program | library) HASH FILE [ARGUMENT...] -c BOOTSTRAP SOCKET_FD PATH_FD
//
// The node adds the last four arguments, as for the fork servers of Python. A program is executed with the arguments of
// the driver and finds the socket through its environment; a library is loaded into this process.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fray.h>
#include <unistd.h>

#include "capi/program.h"
#include "capi/worker_process.h"
#include "os/files/content_hash.h"

namespace fray::capi {

namespace {

constexpr int kNodeArguments = 4;
constexpr int kFirstArgument = 4;

int give_up(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

std::string check_content(const char* hash, const char* file) {
  Result<std::string> found = os::content_hash(file);
  if (!found.is_ok()) return "the file that workers run cannot be read: " + found.status().message();
  if (*found == hash) return {};
  return fmt::format("{} has changed since the program that uses it started; start that program again", file);
}

int become_program(char** argv, int argc, int fd, const char* file) {
  std::string socket = fmt::format("{}:{}", ::getpid(), fd);
  ::setenv(kSocketVariable, socket.c_str(), 1);
  argv[argc - kNodeArguments] = nullptr;
  ::execv(file, argv + kFirstArgument);
  return give_up(fmt::format("cannot run {}: {}", file, std::strerror(errno)));
}

int load_library(int fd, const char* file) {
  if (::dlopen(file, RTLD_NOW | RTLD_LOCAL) == nullptr) return give_up(::dlerror());
  serve(fd);
}

}  // namespace

}  // namespace fray::capi

int fray_host(int argc, char** argv) {
  using namespace fray::capi;
  if (argc < kFirstArgument + kNodeArguments) {
    return give_up("fray-cpp-worker is started by Fray's node; call fray::connect() in your program instead");
  }
  const int fd = std::atoi(argv[argc - 2]);
  ::close(std::atoi(argv[argc - 1]));  // the module path, which only Python needs
  if (std::string problem = check_content(argv[2], argv[3]); !problem.empty()) return give_up(problem);
  return std::strcmp(argv[1], "library") == 0 ? load_library(fd, argv[3]) : become_program(argv, argc, fd, argv[3]);
}
