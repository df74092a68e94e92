#include "store/mapping.h"

#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include "base/mutex.h"

namespace fray::store {

// The writable mappings of this process, which a child of fork() must give up. The list is intrusive, because the child
// must not allocate memory.
class WritableMappings {
 public:
  static WritableMappings& all() {
    static auto* const mappings = new WritableMappings;  // never freed: threads may outlive main()
    return *mappings;
  }

  void add(Mapping* mapping) {
    MutexLock lock(mutex_);
    mapping->writable_ = true;
    mapping->after_ = first_;
    if (first_ != nullptr) first_->before_ = mapping;
    first_ = mapping;
  }

  void remove(Mapping* mapping) {
    MutexLock lock(mutex_);
    if (!std::exchange(mapping->writable_, false)) return;
    (mapping->before_ != nullptr ? mapping->before_->after_ : first_) = mapping->after_;
    if (mapping->after_ != nullptr) mapping->after_->before_ = mapping->before_;
    mapping->before_ = mapping->after_ = nullptr;
  }

 private:
  WritableMappings() { ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

  static void before_fork() FRAY_UNCHECKED_LOCKING { all().mutex_.lock(); }
  static void after_fork_in_parent() FRAY_UNCHECKED_LOCKING { all().mutex_.unlock(); }
  static void after_fork_in_child() FRAY_UNCHECKED_LOCKING {
    for (Mapping* each = all().first_; each != nullptr; each = each->after_) leave_to_parent(*each);
    all().mutex_.unlock();
  }

  // One pin belongs to the pool, or to its caller that is just making the segment; further pins are views.
  static void leave_to_parent(Mapping& mapping) {
    const bool is_viewed = mapping.weak_from_this().use_count() > 1;
    if (is_viewed && ::mprotect(mapping.data_, mapping.size_, PROT_READ) == 0) return;
    ::munmap(mapping.data_, mapping.size_);
    mapping.mapped_ = false;
  }

  Mutex mutex_;
  Mapping* first_ FRAY_GUARDED_BY(mutex_) = nullptr;
};

Mapping::Mapping(std::byte* data, std::uint64_t size, os::Access access) : data_(data), size_(size) {
  if (access == os::Access::kReadWrite) WritableMappings::all().add(this);
}

Mapping::~Mapping() {
  if (writable_) WritableMappings::all().remove(this);
  if (mapped_) ::munmap(data_, size_);
}

void Mapping::become_private(Pin shared) {
  WritableMappings::all().remove(this);
  shared_ = std::move(shared);
}

Result<View> copy_of(std::span<const std::byte> bytes) {
  os::MemoryFiles& files = os::memory_files();
  FRAY_ASSIGN_OR_RETURN(const os::Fd file, files.create(bytes.size()));
  FRAY_ASSIGN_OR_RETURN(std::byte* const data, files.map(file.get(), bytes.size(), os::Access::kPrivate));
  const auto pin = std::make_shared<const Mapping>(data, bytes.size(), os::Access::kPrivate);
  std::copy(bytes.begin(), bytes.end(), data);
  return View{pin->bytes(), pin};
}

}  // namespace fray::store
