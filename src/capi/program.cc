#include "capi/program.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fray.h>
#include <link.h>
#include <unistd.h>

#include "os/files/content_hash.h"
#include "os/machine/installation.h"

extern char** environ;

namespace fray::capi {

namespace {

namespace fs = std::filesystem;

fs::path own_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&fray_release), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::weakly_canonical(info.dli_fname, ignored);
}

// The places are those of an installation, of a wheel, and of a build folder.
Result<std::string> find_beside(const char* name, std::initializer_list<const char*> places) {
  const fs::path folder = own_library().parent_path();
  for (const char* place : places) {
    fs::path candidate = folder / place / name;
    if (::access(candidate.c_str(), X_OK) == 0) return fs::weakly_canonical(candidate).string();
  }
  return Status(StatusCode::kNotFound,
                fmt::format("the program {} is missing beside {}; install Fray whole", name, folder.string()));
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\0', begin);
    if (end == std::string::npos) end = text.size();
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

Result<std::string> find_library(const std::string& library) {
  std::error_code ignored;
  if (library.find('/') != std::string::npos || fs::exists(library, ignored)) {
    return fs::absolute(library, ignored).string();
  }
  // Finds the library as the loader does, and unloads it again.
  void* handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return Status(StatusCode::kNotFound, ::dlerror());
  link_map* map = nullptr;
  std::string path;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path = map->l_name;
  ::dlclose(handle);
  if (path.empty()) return Status(StatusCode::kNotFound, "the loader does not say where " + library + " is");
  return path;
}

bool is_executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

// The module path that a new interpreter has in this folder and environment.
Result<std::vector<std::string>> module_path_of(const std::string& python) {
  static constexpr const char* kPrint = "import sys; sys.stdout.write('\\n'.join(sys.path) + '\\n')";
  std::string command = fmt::format("'{}' -c \"{}\" 2>&1", python, kPrint);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return Status::io_error("cannot ask " + python + " for its module path", errno);
  std::string text;
  char chunk[4096];
  while (std::size_t got = std::fread(chunk, 1, sizeof(chunk), pipe)) text.append(chunk, got);
  if (::pclose(pipe) != 0) {
    return Status(StatusCode::kNotFound, fmt::format("{} does not run: {}", python, text));
  }
  std::vector<std::string> entries;
  std::error_code ignored;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    std::string entry = text.substr(begin, end - begin);
    entries.push_back(entry.empty() ? fs::current_path(ignored).string() : entry);
    begin = end + 1;
  }
  return entries;
}

}  // namespace

wire::WorkerKey key_like_this_process() {
  wire::WorkerKey key;
  std::error_code ignored;
  key.folder = fs::current_path(ignored).string();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    key.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return key;
}

Result<std::string> node_program() { return find_beside("fray", {"../bin", "../../_bin", "."}); }

Result<std::string> host_program() { return find_beside("fray-cpp-worker", {"../libexec/fray", "."}); }

Result<wire::WorkerKey> own_binary_key() {
  wire::WorkerKey key = key_like_this_process();
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return Status(StatusCode::kIoError, "cannot read /proc/self/exe: " + error.message());
  FRAY_ASSIGN_OR_RETURN(std::string host, host_program());
  FRAY_ASSIGN_OR_RETURN(std::string hash, os::content_hash("/proc/self/exe"));
  key.command = {host, "program", hash, program.string()};
  std::vector<std::string> arguments = own_arguments();
  key.command.insert(key.command.end(), arguments.begin(), arguments.end());
  return key;
}

Result<wire::WorkerKey> own_worker_key() {
  FRAY_ASSIGN_OR_RETURN(wire::WorkerKey key, own_binary_key());
  std::vector<std::string> arguments = own_arguments();
  FRAY_ASSIGN_OR_RETURN(std::string host, host_program());
  if (arguments.size() < 4 || arguments[0] != host || arguments[1] != "library") return key;
  key.command.assign(arguments.begin(), arguments.begin() + 4);
  return key;
}

Result<wire::WorkerKey> library_key(const std::string& library) {
  wire::WorkerKey key = key_like_this_process();
  FRAY_ASSIGN_OR_RETURN(std::string path, find_library(library));
  FRAY_ASSIGN_OR_RETURN(std::string host, host_program());
  FRAY_ASSIGN_OR_RETURN(std::string hash, os::content_hash(path));
  key.command = {host, "library", hash, path};
  return key;
}

std::string find_interpreter(const std::string& given) {
  return given.empty() ? os::find_python(os::Installation::of(own_library())) : given;
}

Result<wire::WorkerKey> python_key(const std::string& interpreter) {
  wire::WorkerKey key = key_like_this_process();
  std::string python = find_interpreter(interpreter);
  if (python.empty() || !is_executable(python)) {
    return Status(StatusCode::kNotFound,
                  fmt::format("there is no Python interpreter{}; name one in Options::python, or activate a virtual "
                              "environment with Fray in it",
                              python.empty() ? "" : " at " + python));
  }
  key.command = {python};
  FRAY_ASSIGN_OR_RETURN(key.module_path, module_path_of(python));
  return key;
}

}  // namespace fray::capi
