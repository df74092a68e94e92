// copy_parts: fills one object's memory from scattered pieces, with several threads when that pays.
//
//   copy_parts({{header, 0}, {pickle, 64}, {array, 4096}}, block.destination());
//
// Warm memory is copied into with plain memcpy. Cold memory (pages not allocated yet) is allocated and filled by the
// kernel in one step without zeroing it first: userfaultfd's UFFDIO_COPY from all threads where the system allows it,
// else one thread with pwrite and the others with MADV_POPULATE_WRITE and memcpy. docs/formats/shared-memory.md has the
// figures. Threads are started per copy (8 MiB and more) and have ended when the call returns.
//
// Threading:  any thread; the destination must belong to the caller alone.
// Ownership:  none kept.
// Failure:    kResourceExhausted when memory for cold pages cannot be had; kInvalidArgument when a part does not fit.
//             The destination is then partly written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace fray::store {

struct CopyPart {
  std::span<const std::byte> source;
  std::uint64_t offset = 0;  // from the destination's start; parts must not overlap
};

struct Destination {
  std::byte* data = nullptr;  // page-aligned when cold
  std::uint64_t size = 0;
  bool cold = false;    // some pages may not be allocated yet
  int descriptor = -1;  // the unsealed file mapped at data (from its offset 0); -1: pwrite is not possible
};

// How cold memory is filled; kAutomatic unless measuring or testing.
enum class ColdMethod : std::uint8_t { kAutomatic, kUserfault, kWriteAndPopulate };

// How many threads a large copy may use: the cores this process may run on, at most 4.
unsigned copy_threads();

Status copy_parts(std::span<const CopyPart> parts, const Destination& to, unsigned threads = copy_threads(),
                  ColdMethod method = ColdMethod::kAutomatic);

}  // namespace fray::store
