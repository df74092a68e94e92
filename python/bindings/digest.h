// Digest: 128 bits that stand for some bytes; see hash.h.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none. Different bytes have the same digest by chance alone: it is no defence against anybody.
#pragma once

#include <cstdint>

namespace fray::python {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Digest&) const = default;
};

}  // namespace fray::python
