// LargeValues: values in shared memory: those that this process puts there, and views of those of other processes.
//
// Threading:  any thread; takes the client's mutex itself.
// Ownership:  owns rooms that were handed out and have not become objects. An object that is returned has a count for
//             the caller.
// Failure:    kStoreFull when the store is full, kUnavailable when the node is gone, kObjectLost when nobody has it.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "client/objects/node_memory.h"
#include "client/objects/object_table.h"
#include "wire/value.h"

namespace fray::client {

class LargeValues {
 public:
  LargeValues(ClientMutex& mutex, NodeConnection& connection, NodeMemory& node_memory, ObjectTable& objects)
      : mutex_(mutex), connection_(connection), memory_(node_memory.memory()), objects_(objects) {}

  // Copied into shared memory, with the hooks' sleep around the copy.
  Result<Object*> put_large(wire::Encoding encoding, std::span<const std::byte> whole,
                            std::span<const std::span<const std::byte>> buffers, WaitHooks& hooks);
  // The bytes of a ready, sealed object, as long as the view's pin lives. Keep a count of the object as well.
  Result<store::View> view(Object* object, WaitHooks& hooks);
  // The same for the caller alone, who may write to the bytes: the object stays as it is.
  Result<store::View> private_view(Object* object, WaitHooks& hooks);
  // Memory in the store for `bytes` that the user fills. Either put_in_place() makes an object of it, or leave_room()
  // gives it back. put_in_place() returns null where `buffer` does not lie in such a room.
  Result<Room> make_room(std::uint64_t bytes, WaitHooks& hooks);
  void leave_room(const std::byte* data);
  Object* put_in_place(wire::Encoding encoding, std::span<const std::byte> pickle, std::span<const std::byte> buffer);

 private:
  Object* new_sealed(wire::Encoding encoding, const Location& location);
  // What `look` returns, once the segment is mapped.
  template <typename Look>
  Result<store::View> look_at(SegmentId segment, WaitHooks& hooks, const Look& look);
  Status open_segment(SegmentId segment, WaitHooks& hooks);

  ClientMutex& mutex_;
  NodeConnection& connection_;
  SharedMemory& memory_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  std::unordered_map<const std::byte*, Room> rooms_ FRAY_GUARDED_BY(client_mutex);
};

}  // namespace fray::client
