// Digest: 128 bits that stand for some bytes (XXH3), and Hash, which computes them.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none. Different bytes have the same digest by chance alone: it is no defence against anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL  // header only, so that no library has to be shipped
#include <xxhash.h>

namespace fray::python {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Digest&) const = default;
};

class Hash {
 public:
  Hash() { XXH3_128bits_reset(&state_); }

  void add(const void* bytes, std::size_t size) { XXH3_128bits_update(&state_, bytes, size); }

  void add_number(std::ptrdiff_t number) { add(&number, sizeof number); }

  void add_text(std::string_view text) {
    add_number(static_cast<std::ptrdiff_t>(text.size()));
    add(text.data(), text.size());
  }

  Digest digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.low64, hash.high64};
  }

 private:
  XXH3_state_t state_;
};

}  // namespace fray::python
