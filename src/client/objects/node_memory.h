// NodeMemory: the shared memory of this process, which the node grants and takes back.
//
// Threading:  any thread; return_memory() under the client's mutex.
// Ownership:  owns the segments (client/objects/shared_memory.h) and what is still to be returned to the node.
// Failure:    kStoreFull when the store is full and the node finds nothing to spill. Memory that is granted after the
//             question was interrupted is given back.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/objects/shared_memory.h"
#include "client/session/node_connection.h"

namespace fray::client {

class NodeMemory {
 public:
  NodeMemory(ClientMutex& mutex, NodeConnection& connection)
      : mutex_(mutex), connection_(connection), memory_(callbacks()) {}

  SharedMemory& memory() { return memory_; }
  // Sends the node what the pool has given up. The pool may give memory up with or without the client's mutex held, so its
  // messages are queued until this is called.
  void return_memory() FRAY_REQUIRES(client_mutex);
  bool has_returned() const { return has_returned_; }

  // The hooks of the call in progress, for the pool's question to the node in the middle of it.
  class HooksScope {
   public:
    explicit HooksScope(WaitHooks* hooks);
    ~HooksScope();

   private:
    WaitHooks* before_;
  };

 private:
  SharedMemory::Node callbacks();
  Status ask(std::uint64_t bytes);
  void unreserve(std::uint64_t bytes) FRAY_REQUIRES(client_mutex);
  void call_for_return() FRAY_REQUIRES(returns_mutex_);

  ClientMutex& mutex_;
  NodeConnection& connection_;
  Mutex returns_mutex_;
  std::vector<std::string> returned_ FRAY_GUARDED_BY(returns_mutex_);  // frames for the node
  std::atomic<bool> has_returned_{false};                              // asked before each wait, without the mutex
  SharedMemory memory_;
};

}  // namespace fray::client
