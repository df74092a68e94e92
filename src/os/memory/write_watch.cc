#include "os/memory/write_watch.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/memory/memory_file.h"
#include "os/memory/userfault.h"

namespace fray::os {

namespace {

// From the kernel's linux/userfaultfd.h and linux/fs.h: those of older systems do not have them.
constexpr std::uint64_t kReportsWrites = 1 << 0;
constexpr std::uint64_t kAlsoUnpopulated = 1 << 13;
constexpr std::uint64_t kAsynchronous = 1 << 15;
struct WriteProtect {
  uffdio_range range{};
  std::uint64_t mode = 0;
};
constexpr unsigned long kWriteProtect = _IOWR(UFFDIO, 0x06, WriteProtect);
constexpr std::uint64_t kProtect = 1 << 0;

struct ScannedRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t categories = 0;
};
struct ScanArguments {
  std::uint64_t size = sizeof(ScanArguments);
  std::uint64_t flags = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t walk_end = 0;
  std::uint64_t found = 0;  // address of an array of ScannedRange
  std::uint64_t most_found = 0;
  std::uint64_t most_pages = 0;
  std::uint64_t inverted = 0;
  std::uint64_t all_of = 0;
  std::uint64_t any_of = 0;
  std::uint64_t returned = 0;
};
static_assert(sizeof(ScanArguments) == 96);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kFailUnlessWatched = 1 << 1;
constexpr std::uint64_t kWritten = 1 << 1;
constexpr std::uint64_t kOfFile = 1 << 2;  // or shared memory
constexpr std::uint64_t kPresent = 1 << 3;

uffdio_range range_of(const PageRange& pages) { return {pages.begin, pages.bytes()}; }

// Whether all pages are watched and of all these kinds; the kinds in `inverted` mean their opposite. What the kernel passes
// over, such as the memory of devices, is of none.
bool are_all(const PageRange& pages, std::uint64_t kinds, std::uint64_t inverted) {
  // Opened each time: a child of fork() would look at its parent's memory, and a program with open files is not copied.
  const Fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.is_open()) return false;
  ScannedRange found;  // pages that are next to each other and of the same kinds are one range
  ScanArguments scan;
  scan.flags = kFailUnlessWatched;
  scan.start = pages.begin;
  scan.end = pages.end;
  scan.found = reinterpret_cast<std::uint64_t>(&found);
  scan.most_found = 1;
  scan.inverted = inverted;
  scan.all_of = kinds;
  scan.returned = kinds;
  return ::ioctl(pagemap.get(), kPagemapScan, &scan) == 1 && found.start == pages.begin && found.end == pages.end;
}

// Of CUDA, ROCm, oneAPI and InfiniBand.
constexpr std::array<std::string_view, 4> kDeviceLibraries{"libcuda.so", "libhsa-runtime64.so", "libze_loader.so",
                                                           "libibverbs.so"};

// Of the libraries of this process.
struct LibraryLook {
  unsigned long long loaded_before = 0;  // how many had been loaded at the last look
  unsigned long long loaded = 0;
  bool has_device = false;
};

int look_at_library(dl_phdr_info* library, std::size_t, void* data) {
  LibraryLook& look = *static_cast<LibraryLook*>(data);
  look.loaded = library->dlpi_adds;
  if (look.loaded == look.loaded_before) return 1;  // none has come since: the look is over
  const std::string_view path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  look.has_device = look.has_device || std::any_of(kDeviceLibraries.begin(), kDeviceLibraries.end(),
                                                   [&](std::string_view name) { return file.starts_with(name); });
  return 0;
}

}  // namespace

PageRange PageRange::inside(const void* data, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t page = page_bytes();
  return {(address + page - 1) / page * page, (address + bytes) / page * page};
}

bool WriteWatch::open() {
  if (const pid_t here = ::getpid(); owner_ != here) {
    owner_ = here;
    fd_ = open_userfault(kReportsWrites | kAlsoUnpopulated | kAsynchronous);
  }
  return fd_.is_open();
}

// A device writes to memory that was pinned for it without any of the kernel's page tables.
bool WriteWatch::devices_may_write() {
  LibraryLook look{libraries_loaded_, 0, devices_may_write_};
  ::dl_iterate_phdr(look_at_library, &look);
  libraries_loaded_ = look.loaded;
  devices_may_write_ = look.has_device;
  return devices_may_write_;
}

bool WriteWatch::begin(const PageRange& pages) {
  if (pages.is_empty() || devices_may_write() || !open()) return false;
  uffdio_register watched{};
  watched.range = range_of(pages);
  watched.mode = UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(fd_.get(), UFFDIO_REGISTER, &watched) != 0) return false;
  if (begin_again(pages) && are_all(pages, kOfFile, kOfFile)) return true;
  end(pages);
  return false;
}

bool WriteWatch::begin_again(const PageRange& pages) {
  WriteProtect protect;
  protect.range = range_of(pages);
  protect.mode = kProtect;
  return open() && ::ioctl(fd_.get(), kWriteProtect, &protect) == 0;
}

void WriteWatch::end(const PageRange& pages) {
  uffdio_range range = range_of(pages);
  if (open()) ::ioctl(fd_.get(), UFFDIO_UNREGISTER, &range);
}

bool WriteWatch::is_untouched(const PageRange& pages) {
  // Pages that are not there, because they were given back to the kernel, would count as not written. Pages of a file are
  // told by what is there: those that had not been read when the watch began are known only now.
  return owner_ == ::getpid() && fd_.is_open() && !devices_may_write() &&
         are_all(pages, kPresent | kWritten | kOfFile, kWritten | kOfFile);
}

}  // namespace fray::os
