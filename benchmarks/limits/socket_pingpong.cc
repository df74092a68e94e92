// socket_pingpong SECONDS INTERVAL_US: 64 bytes go to another process and back over a Unix socket; both sides block.
//
// With INTERVAL_US above 0 one round trip starts so often; otherwise the next starts at once. Prints one JSON object:
// "value" is round trips per second, "p50_us" and "p99_us" are latencies in microseconds.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ratio>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;
using Message = std::array<char, 64>;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Returns false when the other side has closed.
bool receive(int fd, Message& message) {
  std::size_t got = 0;
  while (got < message.size()) {
    const ssize_t count = recv(fd, message.data() + got, message.size() - got, 0);
    if (count < 0) fail("recv");
    if (count == 0) return false;
    got += static_cast<std::size_t>(count);
  }
  return true;
}

void send_all(int fd, const Message& message) {
  if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) fail("send");
}

void echo(int fd) {
  Message message{};
  while (receive(fd, message)) send_all(fd, message);
}

std::vector<double> round_trips(int fd, double seconds, std::chrono::microseconds interval) {
  std::vector<double> latencies_us;
  latencies_us.reserve(1 << 20);
  Message message{};
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const bool paced = interval.count() != 0;
  for (auto due = Clock::now(); due < end; due = paced ? due + interval : Clock::now()) {
    if (paced) std::this_thread::sleep_until(due);
    const auto before = Clock::now();
    send_all(fd, message);
    if (!receive(fd, message)) fail("the other side has ended");
    latencies_us.push_back(Microseconds(Clock::now() - before).count());
  }
  return latencies_us;
}

double percentile(std::vector<double>& values, double fraction) {
  const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: socket_pingpong SECONDS INTERVAL_US\n");
    return 2;
  }
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) fail("socketpair");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(fds[0]);
    echo(fds[1]);
    _exit(0);
  }
  close(fds[1]);
  const auto start = Clock::now();
  auto latencies_us = round_trips(fds[0], std::atof(argv[1]), std::chrono::microseconds(std::atoi(argv[2])));
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  close(fds[0]);
  waitpid(child, nullptr, 0);
  if (latencies_us.empty()) return 1;
  std::printf("{\"value\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f}\n",
              static_cast<double>(latencies_us.size()) / elapsed, percentile(latencies_us, 0.5),
              percentile(latencies_us, 0.99));
  return 0;
}
