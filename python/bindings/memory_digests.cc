#include "memory_digests.h"

#include <algorithm>
#include <optional>

#include "gil.h"
#include "hash.h"

namespace fray::python {

namespace {
constexpr std::size_t kMostKnown = 256;
constexpr std::size_t kYieldBytes = 1 << 20;  // other threads may run while so many are hashed
}  // namespace

Digest MemoryDigests::of(const void* data, std::size_t bytes, bool may_yield) {
  const os::PageRange pages = os::PageRange::inside(data, bytes);
  const Known* known = find(pages);
  const bool is_good = known != nullptr && known->is_watched && watch_.is_untouched(pages);
  const Digest inside = is_good ? known->digest : compute(pages, may_yield);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  Hash hash;
  hash.add(data, pages.begin - begin);
  hash.add(&inside, sizeof inside);
  hash.add(reinterpret_cast<const void*>(pages.end), begin + bytes - pages.end);
  return hash.digest();
}

void MemoryDigests::forget() {
  known_.clear();
  watch_ = {};
}

MemoryDigests::Known* MemoryDigests::find(const os::PageRange& pages) {
  auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.pages == pages; });
  if (found == known_.end()) return nullptr;
  std::rotate(found, found + 1, known_.end());
  return &known_.back();
}

// The pages are protected first: what is written while they are hashed counts as written later.
Digest MemoryDigests::compute(const os::PageRange& pages, bool may_yield) {
  const std::uint64_t round = ++rounds_;
  if (Known* known = find(pages)) {
    known->round = round;
    known->is_watched = known->is_watched ? watch_.begin_again(pages) : watch_.begin(pages);
  }
  Hash hash;
  {
    std::optional<GilReleased> released;
    if (may_yield && pages.bytes() >= kYieldBytes) released.emplace();
    hash.add(reinterpret_cast<const void*>(pages.begin), pages.bytes());
  }
  settle(pages, round, hash.digest());
  return hash.digest();
}

void MemoryDigests::settle(const os::PageRange& pages, std::uint64_t round, const Digest& digest) {
  Known* known = find(pages);
  if (known == nullptr) return add({pages, digest, round, false});
  if (known->round != round) return;  // another thread has protected the pages since, and hashes them
  if (known->digest == digest) return;
  known->digest = digest;
  end_watch(*known);  // what changes again and again is cheaper without
}

void MemoryDigests::add(const Known& fresh) {
  std::erase_if(known_, [&](Known& known) {
    if (!known.pages.overlaps(fresh.pages)) return false;
    end_watch(known);
    return true;
  });
  if (known_.size() >= kMostKnown) {
    end_watch(known_.front());
    known_.erase(known_.begin());
  }
  known_.push_back(fresh);
}

void MemoryDigests::end_watch(Known& known) {
  if (known.is_watched) watch_.end(known.pages);
  known.is_watched = false;
}

MemoryDigests& memory_digests() {
  static auto* const digests = new MemoryDigests;  // other threads may use it while the process ends
  return *digests;
}

}  // namespace fray::python
