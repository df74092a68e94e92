// Fakes for the tests of this folder: a budget with a limit, and system calls that fail when told to.
//
// Threading:  one thread at a time.
// Ownership:  none.
// Failure:    as told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/memory/memory_file.h"
#include "store/segment_pool.h"

namespace fray::store {

inline constexpr std::uint64_t kMiB = 1u << 20;

class FakeBudget : public MemoryBudget {
 public:
  explicit FakeBudget(std::uint64_t limit = ~std::uint64_t{0}) : limit_(limit) {}

  Status reserve(std::uint64_t bytes) override {
    if (bytes > limit_ - used_) return Status(StatusCode::kStoreFull, "the store is full");
    used_ += bytes;
    return Status::ok();
  }
  void unreserve(std::uint64_t bytes) override { used_ -= bytes; }
  void forget(SegmentId segment) override { forgotten_.push_back(segment); }

  std::uint64_t used() const { return used_; }
  const std::vector<SegmentId>& forgotten() const { return forgotten_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::vector<SegmentId> forgotten_;
};

// The real calls, but the one numbered `failing` (from 0) fails.
class FailingMemoryFiles : public os::MemoryFiles {
 public:
  explicit FailingMemoryFiles(int failing) : failing_(failing) {}

  Result<os::Fd> create(std::uint64_t bytes) override {
    if (fails()) return refused();
    return os::memory_files().create(bytes);
  }
  Result<std::byte*> map(int descriptor, std::uint64_t bytes, os::Access access) override {
    if (fails()) return refused();
    return os::memory_files().map(descriptor, bytes, access);
  }
  Status populate(std::byte* data, std::uint64_t bytes) override {
    return fails() ? refused() : os::memory_files().populate(data, bytes);
  }
  Result<std::byte*> make_private(std::byte* data, std::uint64_t bytes, int descriptor) override {
    if (fails()) return refused();
    return os::memory_files().make_private(data, bytes, descriptor);
  }
  Status seal(int descriptor) override { return fails() ? refused() : os::memory_files().seal(descriptor); }

  int calls() const { return calls_; }

 private:
  bool fails() { return calls_++ == failing_; }
  static Status refused() { return Status(StatusCode::kResourceExhausted, "told to fail"); }

  int failing_;
  int calls_ = 0;
};

}  // namespace fray::store
