// A fork server for tests of the node, started as the node starts Python's: PROGRAM -c BOOTSTRAP SOCKET_FD PATH_FD.
//
// Its workers obey single bytes on the direct socket: e echo, k die by SIGKILL, x exit with code 7, l print lines,
// c fork a child, o leave an orphan behind, s print without ever ending a line. PROGRAM fail: exits at once, with a line of output.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/worker_page.h"
#include "os/memory/memory_page.h"
#include "wire/control.h"
#include "wire/session.h"
#include "wire/socket.h"
#include "worker/fork_server.h"

namespace {

using namespace fray;

void answer(int fd, const void* bytes, std::size_t size) {
  if (::write(fd, bytes, size) != static_cast<ssize_t>(size)) ::_exit(9);
}

pid_t fork_sleeper() {
  pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  return pid;
}

// A grandchild in a session of its own, whose parent has ended.
pid_t leave_orphan() {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    pid_t orphan = fork_sleeper();
    answer(ends[1], &orphan, sizeof(orphan));
    ::_exit(0);
  }
  pid_t orphan = -1;
  if (::read(ends[0], &orphan, sizeof(orphan)) != static_cast<ssize_t>(sizeof(orphan))) orphan = -1;
  ::waitpid(middle, nullptr, 0);
  return orphan;
}

void obey(char order, int fd) {
  switch (order) {
    case 'k':
      ::raise(SIGKILL);
      break;
    case 'x':
      ::_exit(7);
    case 'l':
      std::printf("first line\nsecond line\n");
      std::fflush(stdout);
      std::fprintf(stderr, "a complaint\n");
      break;
    case 's': {
      std::string endless(1u << 16, 'x');
      while (true) {
        if (::write(1, endless.data(), endless.size()) < 0) ::_exit(8);
      }
    }
    default:
      break;
  }
  pid_t made = 0;
  if (order == 'c') made = fork_sleeper();
  if (order == 'o') made = leave_orphan();
  if (made != 0) {
    answer(fd, &made, sizeof(made));
  } else {
    answer(fd, &order, 1);
  }
}

class TestWorker {
 public:
  explicit TestWorker(const worker::ForkedWorker& forked)
      : control_(os::Fd(forked.control_fd)), page_(os::SharedPage::map(os::Fd(forked.page_fd)).value()) {
    wire::Hello hello;
    hello.role = wire::Role::kWorker;
    hello.pid = ::getpid();
    hello.process = forked.process;
    hello.release = FRAY_VERSION;
    control_.queue(wire::frame(wire::ControlType::kHello, 0, hello));
  }

  // Until the node lets go.
  void run() {
    while (control_.flush().is_ok()) {
      pollfd watched[] = {{control_.fd(), POLLIN, 0}, {direct_.get(), POLLIN, 0}};
      ::poll(watched, 2, -1);
      if (watched[0].revents != 0 && !read_control()) return;
      if (direct_.is_open() && watched[1].revents != 0) read_direct();
    }
  }

 private:
  bool read_control() {
    Status filled = control_.fill();
    wire::Incoming frame;
    while (control_.next(&frame).value()) {
      if (static_cast<wire::ControlType>(frame.header.type) == wire::ControlType::kLease) {
        direct_ = std::move(frame.fds.front());
      }
    }
    return filled.is_ok();
  }
  void read_direct() {
    char order = 0;
    if (::read(direct_.get(), &order, 1) != 1) return direct_.reset();
    auto* page = static_cast<WorkerPage*>(page_.data());
    page->begin_task(1, "test task", 1);
    obey(order, direct_.get());
    page->end_task();
  }

  wire::FrameSocket control_;
  os::SharedPage page_;
  os::Fd direct_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "fail") == 0) {
    std::fprintf(stderr, "cannot import what is needed\n");
    return 1;
  }
  if (argc < 4) return 2;
  worker::ForkedWorker forked = worker::run_fork_server(std::atoi(argv[argc - 2]), {});
  TestWorker(forked).run();
  return 0;
}
