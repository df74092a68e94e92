// connect(): makes this process a driver of a node, its own or one that runs; Session ends that.
//
//   int main() {
//     auto session = fray::connect().value_or_throw();     // first of all: workers run main() up to here
//     ...
//   }
//
// Workers of the program's own binary are started by running it again with the same arguments. In them connect() does
// not return: it runs tasks. So what main() does before connect() is done once more for workers, and must not start
// threads. With Options::library workers load that library instead, and main() is not run again.
//
// Threading:  any thread; one session at a time in a process.
// Ownership:  the session ends with its Session. Arrays that were got stay readable.
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

struct Options {
  std::string address{};           // empty: that of this job, else one of its own; else "auto", a socket or a home
  double cpus = 0;                 // 0: what the container gives. This and the next five are for a node of its own
  std::uint64_t memory_bytes = 0;  // likewise
  std::uint64_t store_memory_bytes = 0;
  std::string spill_folder{};
  std::uint32_t max_workers = 0;
  std::map<std::string, double> resources{};
  std::string name_space{};  // of named actors; empty: that of the environment, else "default"
  std::string library{};     // that workers load; empty: they run this program
  std::string python{};      // interpreter of Python workers; empty: as found
};

class Session {
 public:
  explicit Session(fray_session* session) : session_(session) {}
  Session(Session&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(session_, other.session_);
    return *this;
  }
  ~Session() { close(); }

  // Unfinished tasks fail; a node of its own ends with all its workers. Idempotent.
  void close() {
    if (session_ == nullptr) return;
    fray_close(session_);
    fray_session_release(std::exchange(session_, nullptr));
  }
  // How much of a resource the node has: "CPU", "memory", ...
  double total(const std::string& resource) const { return fray_total_resource(session_, resource.c_str()); }
  // What `fray status --json` shows.
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

// In a process that was started as a worker: runs tasks and exits; elsewhere it returns at once. For programs that do
// something before connect() that workers must not do.
inline void serve_if_worker() { fray_serve(); }

}  // namespace v1
}  // namespace fray
