// Hash: computes the Digest of some bytes (XXH3).
//
// Threading:  values.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <cstddef>
#include <string_view>

#define XXH_INLINE_ALL  // header only, so that no library has to be shipped
#include <xxhash.h>

#include "digest.h"

namespace fray::python {

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
