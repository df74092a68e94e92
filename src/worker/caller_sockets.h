// CallerSockets: the sockets of an actor's callers, by numbers that are never given twice, and the answers that are not
// sent yet.
//
//   sockets.add(client, std::move(fd));
//   if (Caller* caller = sockets.find(id)) { write to caller->socket.output(); sockets.mark_dirty(id, *caller); }
//   sockets.flush_all();
//
// Each socket is in the loop's epoll with its number, for input, and for output as long as it has not taken all of it.
//
// Threading:  guarded by the mutex of ActorLoop.
// Ownership:  owns the sockets, and a slot of the worker's page for each caller while there are some; borrows the epoll.
// Failure:    a caller whose socket the kernel has no memory to watch is dropped, and connects again. If user code has
//             closed the descriptors, the process ends.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/worker_page.h"
#include "os/fd.h"
#include "wire/socket.h"
#include "worker/task_loop.h"

namespace fray::worker {

class CallerSockets {
 public:
  struct Caller {
    ProcessId client = 0;
    int slot = -1;  // in the page
    bool watches_output = false;
    bool dirty = false;
    wire::FrameSocket socket;
  };

  CallerSockets(Page& page, int epoll);

  void add(ProcessId client, os::Fd fd);
  // False: no caller has this number any more.
  bool drop(std::uint64_t id);
  void close_all();

  Caller* find(std::uint64_t id);
  // The only caller with its number; null when there are none or several.
  std::pair<const std::uint64_t, Caller>* only() { return callers_.size() == 1 ? &*callers_.begin() : nullptr; }
  bool have_output() const;

  // Notes for flush_all() that the caller's socket has output.
  void mark_dirty(std::uint64_t id, Caller& caller);
  bool is_any_dirty() const { return !dirty_.empty(); }
  void flush_all();
  void flush(std::uint64_t id, Caller& caller);

 private:
  void leave_slot(const Caller& caller);

  Page& page_;
  const int epoll_;
  std::unordered_map<std::uint64_t, Caller> callers_;
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> dirty_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace fray::worker
