// Content: what is in a container, an array or another object at one moment, to tell later whether it still is.
//
// Lists, dicts, sets and plain objects are compared by the identity of what they have, all the way down; the memory of arrays
// by its digest (memory_digests.h), and so are the addresses that a large list or set or an array of objects has; any other
// object by the digest of its pickle. A MB of memory takes 0.15 ms the first two times, and 1 us from then on, while nobody writes to it. To pickle
// it for each call takes 20 to 100 times as long, and as long again where it arrives.
//
// Threading:  with the GIL, which is given up while the memory of a large array is hashed.
// Ownership:  a part holds its container and what was in it. Arrays that functions name are not held, since numpy resizes no
//             array that somebody else refers to, and other objects are held weakly where that can be done: they are gone
//             when the program drops them.
// Failure:    see the functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arguments.h"
#include "digest.h"

namespace fray::python {

// An object to compare with. One that is held weakly and is gone equals nothing.
class Compared {
 public:
  Compared() = default;
  explicit Compared(PyObject* object);

  bool is(PyObject* now) const;
  PyObject* get() const;                           // borrowed; null where there was none, or it is gone
  PyObject* owned() const { return held_.get(); }  // for the collector of cycles
  bool is_lost() const { return how_ != How::kByMemory && !held_; }  // no object, or there was no memory to refer to it

  // Of an array whose memory is compared, which may be gone; else null.
  PyObject* array() const { return how_ == How::kByMemory ? array_ : nullptr; }

  // Of an array that was given: compare its memory with this, or hold it.
  bool is_unsettled_array(PyObject* array) const { return how_ == How::kByMemory && array_ == array; }
  void settle(const Digest& digest) { digest_ = digest; }
  void hold();

 private:
  enum class How : std::uint8_t { kStrongly, kWeakly, kByMemory };
  How how_ = How::kStrongly;
  Owned held_;
  PyObject* array_ = nullptr;  // not held, so nothing but its address is known
  Digest digest_;
};

struct ContentPart {
  enum class By : std::uint8_t {
    kItems,
    kMembers,
    kEntries,
    kAttributes,
    kEntriesAndAttributes,
    kSlots,
    kPartial,
    kMemory,
    kPickle
  };
  By by;
  Compared container;
  Owned copy;                 // a tuple or a dict; of a pickle the items of its arrays of objects, or null
  Owned cls;                  // of an object that is no list, set or dict, and is not compared by its digest
  Digest digest;              // of large lists and sets: that of the addresses of their items
  std::uint64_t version = 0;  // of the dict, where Python counts its changes (3.11)
};

// The digest of an array whose memory says all that is in it.
std::optional<Digest> digest_of_array(PyObject* object);

// Whether both dicts have the same objects, in the same order; null counts as empty. Identity, not equality: 1 == True.
bool has_same_entries(PyObject* now, PyObject* then);

// Adds what is in `root` to `parts`. The functions and classes in it are appended to the list `refers`: they are not looked into.
// 1; 0 where some of it could change unnoticed, or has too many parts; -1 with a Python exception set.
int take_content(PyObject* root, std::vector<ContentPart>* parts, PyObject* refers);

// 1 or 0; -1 with a Python exception set.
int is_as_it_was(const ContentPart& then);

}  // namespace fray::python
