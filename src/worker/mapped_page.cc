#include "worker/mapped_page.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fray::worker {

MappedPage::MappedPage(int fd) {
  void* mapped = ::mmap(nullptr, sizeof(WorkerPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) {
    page_ = static_cast<WorkerPage*>(mapped);
    page_->state.store(WorkerState::kIdle, std::memory_order_release);
  }
  ::close(fd);
}

MappedPage::~MappedPage() {
  page_->state.store(WorkerState::kStopping, std::memory_order_release);
  if (page_ != &private_) ::munmap(page_, sizeof(WorkerPage));
}

}  // namespace fray::worker
