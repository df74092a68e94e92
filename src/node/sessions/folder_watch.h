// FolderWatch: tells when the folder of a started node is removed, and with it the node's home.
//
// Nobody can find such a node any more, so it is to end, as a server of PostgreSQL does whose data folder is gone. The
// kernel tells of the removal (inotify); nothing looks now and then.
//
// Threading:  that of the loop.
// Ownership:  owns its descriptor and the callback; the loop must outlive it.
// Failure:    create() returns kIoError when the kernel has no watch left.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "event/loop.h"
#include "os/fd.h"

namespace fray::node {

class FolderWatch {
 public:
  // `on_removed` is called at most once, by the loop.
  static Result<std::unique_ptr<FolderWatch>> create(event::Loop& loop, const std::string& folder,
                                                     std::function<void()> on_removed);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch();

 private:
  FolderWatch(event::Loop& loop, os::Fd inotify, std::string folder, std::function<void()> on_removed);
  void something_was_removed();

  event::Loop& loop_;
  os::Fd inotify_;
  std::string folder_;
  std::function<void()> on_removed_;
};

}  // namespace fray::node
