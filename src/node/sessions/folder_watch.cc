#include "node/sessions/folder_watch.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace fray::node {

Result<std::unique_ptr<FolderWatch>> FolderWatch::create(event::Loop& loop, const std::string& folder,
                                                         std::function<void()> on_removed) {
  os::Fd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.is_open()) return Status::io_error("inotify_init1", errno);
  const std::string parent = folder.substr(0, folder.rfind('/'));
  // The folder's own removal is told by its parent, and at once. The folder itself would tell of it only when no process
  // has it open any more.
  if (::inotify_add_watch(inotify.get(), parent.c_str(), IN_DELETE | IN_ONLYDIR) < 0) {
    return Status::io_error(fmt::format("cannot watch {}", parent), errno);
  }
  std::unique_ptr<FolderWatch> watch(new FolderWatch(loop, std::move(inotify), folder, std::move(on_removed)));
  FRAY_RETURN_IF_ERROR(
      loop.add(watch->inotify_.get(), EPOLLIN, [self = watch.get()](std::uint32_t) { self->something_was_removed(); }));
  return watch;
}

FolderWatch::FolderWatch(event::Loop& loop, os::Fd inotify, std::string folder, std::function<void()> on_removed)
    : loop_(loop), inotify_(std::move(inotify)), folder_(std::move(folder)), on_removed_(std::move(on_removed)) {}

FolderWatch::~FolderWatch() { loop_.remove(inotify_.get()); }

// The parent has the folders of other nodes too.
void FolderWatch::something_was_removed() {
  const std::string name = folder_.substr(folder_.rfind('/') + 1);
  bool removed = false;
  alignas(inotify_event) std::array<char, 4 << 10> events;
  ssize_t got = 0;
  while ((got = ::read(inotify_.get(), events.data(), events.size())) > 0) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
      removed = removed || (event->len > 0 && name == event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  if (removed && on_removed_) std::exchange(on_removed_, nullptr)();
}

}  // namespace fray::node
