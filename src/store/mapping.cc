#include "store/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fray::store {

Mapping::Mapping(std::byte* data, std::uint64_t size, os::Access access)
    : data_(data), size_(size), owner_(access == os::Access::kReadWrite ? ::getpid() : 0) {}

Mapping::~Mapping() {
  if (owner_ == 0 || owner_ == ::getpid()) ::munmap(data_, size_);
}

}  // namespace fray::store
