// connect(): makes this process a driver, of a node of its own or of one that already runs. The Session that it returns
// is the connection.
//
//   int main() {
//     auto session = fray::connect().value_or_throw();     // call it first: workers run main() up to here
//     ...
//   }
//
// A worker is the program's own binary, started again with the same arguments. In a worker connect() does not return:
// it runs tasks. Everything that main() does before connect() is thus repeated in each worker, and must not start
// threads. With Options::library workers load that library instead, and main() is not run again.
//
// Threading:  any thread; a process has one session at a time.
// Ownership:  the session ends when its Session is destroyed. Arrays that get() has returned stay readable.
// Failure:    kNotFound and kUnavailable say which program or node is missing, kVersionMismatch which release it has.
#pragma once

#include <fray.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fray/status.h"

namespace fray {
inline namespace v1 {

// What connect() connects to. The members from `cpus` to `resources` describe the program's own node, and a running
// node ignores them; 0 and empty stand for the defaults.
struct Options {
  // "auto" for the running node of this home, the path of a socket, or a home. Empty for the node of the job that this
  // process belongs to, and for a node of its own outside of jobs.
  std::string address{};
  // Number of CPUs; by default those that the container has.
  double cpus = 0;
  // Memory of the node; by default that of the container.
  std::uint64_t memory_bytes = 0;
  std::uint64_t store_memory_bytes = 0;
  std::string spill_folder{};
  std::uint32_t max_workers = 0;
  std::map<std::string, double> resources{};
  // The namespace of named actors. Empty for that of the environment, or else "default".
  std::string name_space{};
  // The shared library that workers load. Empty if workers run this program.
  std::string library{};
  // The interpreter of Python workers. Empty for that of $VIRTUAL_ENV, that of the environment in which Fray is
  // installed, or python3 on the PATH.
  std::string python{};
};

// The connection of this process to its node.
class Session {
 public:
  explicit Session(fray_session* session) : session_(session) {}
  Session(Session&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(session_, other.session_);
    return *this;
  }
  ~Session() { close(); }

  // Ends the session. Tasks that have not finished fail, and the program's own node ends with its workers, which
  // are gone when this returns; the wait for them lasts at most 5 s. A second call has no effect.
  void close() {
    if (session_ == nullptr) return;
    fray_close(session_);
    fray_session_release(std::exchange(session_, nullptr));
  }
  // Returns the amount of a resource that the node has in total, such as "CPU" or "memory".
  double total(const std::string& resource) const { return fray_total_resource(session_, resource.c_str()); }
  // Returns the document that `fray status --json` prints.
  Result<std::string> status() const {
    char* text = nullptr;
    if (int code = fray_status(session_, &text); code != FRAY_OK) return Status::of(code);
    std::string json(text);
    fray_text_free(text);
    return json;
  }
  fray_session* get() const { return session_; }

 private:
  fray_session* session_;
};

// Connects this process to a node. In a worker it does not return.
inline Result<Session> connect(const Options& options = {}) {
  if (fray_abi_version() != FRAY_ABI_VERSION) {
    return Status(Code::kVersionMismatch, "this program was compiled for version " + std::to_string(FRAY_ABI_VERSION) +
                                              " of Fray's C interface, the libfray of release " + fray_release() +
                                              " that was loaded offers version " + std::to_string(fray_abi_version()));
  }
  auto text = [](const std::string& given) { return given.empty() ? nullptr : given.c_str(); };
  std::vector<fray_resource> resources;
  for (const auto& [name, amount] : options.resources) resources.push_back({name.c_str(), amount});
  fray_connect_options given{};
  given.size = sizeof(given);
  given.address = text(options.address);
  given.cpus = options.cpus;
  given.memory_bytes = options.memory_bytes;
  given.store_memory_bytes = options.store_memory_bytes;
  given.spill_folder = text(options.spill_folder);
  given.max_workers = options.max_workers;
  given.resources = resources.data();
  given.resource_count = resources.size();
  given.name_space = text(options.name_space);
  given.library = text(options.library);
  given.python = text(options.python);
  fray_session* session = nullptr;
  if (int code = fray_connect(&given, &session); code != FRAY_OK) return Status::of(code);
  return Session(session);
}

// In a worker, runs tasks and ends the process; in any other process, returns at once. Programs call it before work
// that precedes connect() and that workers must not repeat.
inline void serve_if_worker() { fray_serve(); }

}  // namespace v1
}  // namespace fray
