// Objects: the objects of this process as its users hold them: makes small values, takes over refs that arrive, and
// releases them.
//
// Threading:  any thread; takes the client's mutex itself, but not for the last count of an object that nobody else
//             knows.
// Ownership:  what is returned carries a count for the caller; release() ends one.
// Failure:    none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/reading.h"

namespace fray::client {

class Objects {
 public:
  Objects(ClientMutex& mutex, NodeConnection& connection, ReadingKernel& kernel, ObjectTable& objects,
          TaskLedger& ledger, Reading& reading)
      : mutex_(mutex),
        connection_(connection),
        kernel_(kernel),
        objects_(objects),
        ledger_(ledger),
        reading_(reading) {}

  // An object with an inline value. Takes over the counts of `nested`.
  Object* put_inline(wire::Encoding encoding, std::string bytes, std::vector<Object*> nested);
  // The refs inside a ready object, with new counts.
  std::vector<Object*> nested(Object* object);
  std::vector<Object*> adopt(std::span<const ObjectId> ids);
  Object* adopt_sealed(const wire::ValueView& value);  // a large argument or item
  // An object that some process has shared, by an id that came past the engine; null: of another engine. Where nobody
  // holds the object any more, the node says that it is lost.
  Object* find(ObjectId id);
  void release(Object* object);
  ObjectId new_object_id();
  // Tells the node of objects that are about to leave this process.
  void share(std::span<Object* const> objects);

 private:
  ClientMutex& mutex_;
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  TaskLedger& ledger_ FRAY_GUARDED_BY(client_mutex);
  Reading& reading_ FRAY_GUARDED_BY(client_mutex);
};

}  // namespace fray::client
