#include "capi/worker_process.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <unistd.h>

#include "base/sanitized.h"
#include "capi/actor_host.h"
#include "capi/crash_report.h"
#include "capi/executor.h"
#include "capi/session.h"
#include "client/output/output_writer.h"
#include "worker/fork_server.h"
#include "worker/mapped_page.h"

namespace fray::capi {

namespace {

[[noreturn]] void end_worker(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::fflush(stderr);
  ::_exit(1);
}

// Checks that this process has one thread: in a child of fork(), locks of other threads would never be released.
void check_threads() {
  if (kUnderThreadSanitizer) return;  // ThreadSanitizer has a thread of its own
  std::error_code ignored;
  std::filesystem::directory_iterator threads("/proc/self/task", ignored);
  if (std::distance(threads, std::filesystem::directory_iterator()) > 1) {
    end_worker(
        "this program has started threads before fray::connect(), so no workers can be made of it: connect first");
  }
}

// Serves the node as a fork server; returns only in a forked child.
fray_session* become_worker(const worker::ForkedWorker& forked) {
  client::ClientOptions options;
  options.control = os::Fd(forked.control_fd);
  options.role = wire::Role::kWorker;
  options.process = forked.process;
  options.output = &client::OutputWriter::of_process();  // for the output of tasks that its tasks submit
  auto client = client::Client::connect(std::move(options));
  if (!client.is_ok()) end_worker(client.status().message().c_str());
  auto* session = new fray_session;
  session->of_worker = true;
  session->client = std::move(client).value();
  const char* name_space = std::getenv("FRAY_NAMESPACE");
  session->name_space = name_space != nullptr && *name_space != '\0' ? name_space : "default";
  if (const char* pipe = std::getenv(kSpansVariable); pipe != nullptr && std::strchr(pipe, '/') == nullptr) {
    session->spans = std::make_unique<Spans>(session->client->node().folder, pipe, false);
  }
  set_current_session(session);
  return session;
}

}  // namespace

int take_worker_socket() {
  const char* text = std::getenv(kSocketVariable);
  if (text == nullptr) return -1;
  int pid = 0;
  int fd = -1;
  if (std::sscanf(text, "%d:%d", &pid, &fd) != 2 || pid != ::getpid()) fd = -1;
  ::unsetenv(kSocketVariable);  // so that a program that a task starts does not take itself for a worker
  return fd;
}

void serve(int node_fd) {
  check_threads();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  worker::ForkedWorker forked = worker::run_fork_server(node_fd, {});
  report_crashes();
  fray_session* session = become_worker(forked);
  worker::MappedPage page(forked.page_fd);
  Executor executor(*session);
  worker::TaskLoop loop(*session->client, executor, page);
  executor.attach(&loop);
  loop.run();
  session->client->set_duty(nullptr);
  if (auto actor = loop.take_actor()) host_actor(*session, page, *actor);
  std::fflush(nullptr);
  // Without static destructors: threads that user code has left running may still use what these destroy.
  ::_exit(0);
}

}  // namespace fray::capi

void fray_serve(void) {
  int fd = fray::capi::take_worker_socket();
  if (fd >= 0) fray::capi::serve(fd);
}
