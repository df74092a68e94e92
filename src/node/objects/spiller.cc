#include "node/objects/spiller.h"

#include <cerrno>
#include <memory>
#include <utility>

#include <fcntl.h>

#include "base/fault.h"
#include "store/spill_file.h"

namespace fray::node {

struct Spiller::Copy : SideThread::Piece {
  Copy(const Spiller& spiller, SegmentId segment, os::Fd source, std::uint64_t size)
      : spiller(spiller), segment(segment), source(std::move(source)), size(size) {}

  void work() override {
    auto copied = store::spill_to_file(source.get(), size, spiller.folder_);
    file = copied.is_ok() ? Result<os::Fd>(std::move(copied->descriptor)) : Result<os::Fd>(copied.status());
    source = os::Fd();
  }
  void done() override { spiller.on_done_(segment, std::move(file)); }

  const Spiller& spiller;
  const SegmentId segment;
  os::Fd source;
  const std::uint64_t size;
  Result<os::Fd> file = os::Fd();
};

Spiller::Spiller(event::Loop& loop, std::string folder, OnDone on_done)
    : folder_(std::move(folder)), on_done_(std::move(on_done)), thread_(loop) {}

Status Spiller::submit(SegmentId segment, int source, std::uint64_t size) {
  os::Fd copy(FRAY_FAULT("spill.source", EMFILE) ? -1 : ::fcntl(source, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) return Status::io_error("fcntl", errno);
  return thread_.submit(std::make_unique<Copy>(*this, segment, std::move(copy), size));
}

}  // namespace fray::node
