// memfd_copy BYTES warm|cold: two threads copy a private buffer into shared memory.
//
// warm: one memfd, mapped, every page touched before; memcpy in chunks of 4 MiB. The median of five copies.
// cold: memfds of 64 MiB that nobody has touched, filled by pwrite, which allocates and copies in one go. One copy.
// Prints one JSON object: "value" is GB/s, where a GB is 10^9 bytes.

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kWarmChunkBytes = std::size_t{4} << 20;
constexpr std::size_t kColdSegmentBytes = std::size_t{64} << 20;
constexpr std::size_t kWarmCopies = 5;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int make_memfd(std::size_t bytes) {
  const int fd = memfd_create("memfd_copy", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  return fd;
}

// Gives every chunk [offset, offset + size) of `bytes` to one of two threads; returns the seconds until all are done.
double on_two_threads(std::size_t bytes, std::size_t chunk, const std::function<void(std::size_t, std::size_t)>& copy) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t offset = next.fetch_add(chunk); offset < bytes; offset = next.fetch_add(chunk)) {
      copy(offset, std::min(chunk, bytes - offset));
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::thread other(work);
  work();
  other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double warm_seconds(const std::vector<char>& source) {
  const int fd = make_memfd(source.size());
  void* const mapped = mmap(nullptr, source.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) fail("mmap");
  char* const target = static_cast<char*>(mapped);
  std::memset(target, 1, source.size());
  std::array<double, kWarmCopies> seconds{};
  for (double& one : seconds) {
    one = on_two_threads(source.size(), kWarmChunkBytes, [&](std::size_t offset, std::size_t size) {
      std::memcpy(target + offset, source.data() + offset, size);
    });
  }
  munmap(mapped, source.size());
  close(fd);
  std::sort(seconds.begin(), seconds.end());
  return seconds[kWarmCopies / 2];
}

double cold_seconds(const std::vector<char>& source) {
  std::vector<int> fds((source.size() + kColdSegmentBytes - 1) / kColdSegmentBytes, -1);
  const double seconds = on_two_threads(source.size(), kColdSegmentBytes, [&](std::size_t offset, std::size_t size) {
    const int fd = make_memfd(kColdSegmentBytes);
    fds[offset / kColdSegmentBytes] = fd;
    for (std::size_t written = 0; written < size;) {
      const char* const from = source.data() + offset + written;
      const ssize_t count = pwrite(fd, from, size - written, static_cast<off_t>(written));
      if (count < 0) fail("pwrite");
      written += static_cast<std::size_t>(count);
    }
  });
  for (const int fd : fds) close(fd);
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[2] : "";
  if (kind != "warm" && kind != "cold") {
    std::fprintf(stderr, "usage: memfd_copy BYTES warm|cold\n");
    return 2;
  }
  const std::vector<char> source(std::strtoull(argv[1], nullptr, 10), 'x');
  const double seconds = kind == "warm" ? warm_seconds(source) : cold_seconds(source);
  std::printf("{\"value\": %.4f}\n", static_cast<double>(source.size()) / 1e9 / seconds);
  return 0;
}
