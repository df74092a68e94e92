// ZipWriter: an archive in the ZIP format, written file by file; entries are stored as they are, so that the same files
// always give the same bytes.
//
// Threading:  one thread.
// Ownership:  writes to a descriptor that stays the caller's.
// Failure:    kIoError when a file cannot be read or the archive not written; kResourceExhausted beyond `most_bytes` or
//             kMostEntries (the format without its 64-bit extension).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fray::runtime_env {

class ZipWriter {
 public:
  static constexpr std::size_t kMostEntries = 65'535;

  ZipWriter(int fd, std::uint64_t most_bytes) : fd_(fd), most_bytes_(most_bytes) {}

  // The file behind `source`, to its end, under a relative name with slashes.
  Status add_file(const std::string& name, int source, bool executable);
  Status add_folder(const std::string& name);
  // The directory at the end; nothing can be added after it.
  Status finish();
  std::uint64_t size() const { return offset_; }

 private:
  struct Entry {
    std::string name;
    std::uint32_t offset = 0;
    std::uint32_t checksum = 0;
    std::uint32_t size = 0;
    std::uint32_t mode = 0;
  };

  Status begin(Entry entry);
  Status write(std::string_view bytes);

  int fd_;
  std::uint64_t most_bytes_;
  std::uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace fray::runtime_env
