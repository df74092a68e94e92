// Encodes Python objects as values that travel, and decodes them.
//
// Simple values (None, bool, int of 64 bits, float, str, bytes, lists of refs) have encodings of their own; all else is pickled:
// plain data here (plain_pickle.h), the rest by Python's pickler (protocol 5), with cloudpickle where that cannot, or where the
// pickle would refer to `__main__`. Buffers of large arrays stay outside the pickle and are copied once, into shared memory.
//
// Threading:  any thread with the GIL. User code runs while pickling: no lock is held then.
// Ownership:  Encoded owns its bytes, buffers and counts of nested refs until they are moved on.
// Failure:    functions return false or null with a Python exception set; SerializationError names what cannot be pickled.
#pragma once

#include <string>
#include <vector>

#include "refs.h"

namespace fray::python {

// Values up to this size travel inside frames.
inline constexpr std::size_t kInlineBytes = 8 * 1024;

class Encoded {
 public:
  Encoded() = default;
  Encoded(const Encoded&) = delete;
  Encoded& operator=(const Encoded&) = delete;
  ~Encoded();

  // `what` names the value in errors: "argument 2 of task f".
  bool encode(PythonClient* owner, PyObject* value, const char* what) {
    return encode_simple(owner, value) || (PyErr_Occurred() == nullptr && pickle(owner, value, what));
  }
  // The same for readers of other languages: what they lack is an error.
  bool encode_portable(PythonClient* owner, PyObject* value, const char* what) {
    return encode_simple(owner, value) || (PyErr_Occurred() == nullptr && pack(owner, value, what));
  }

  // A pickle that was made already, and the buffers outside of it, as a large value. They are copied, wherever they lie.
  bool take_pickle(PythonClient* owner, PyObject* pickle, PyObject* buffers);

  wire::Encoding encoding() const { return encoding_; }
  bool is_large() const { return large_; }
  const std::string& inline_bytes() const { return bytes_; }
  std::string take_inline_bytes() { return std::move(bytes_); }
  std::vector<client::Object*> take_nested() { return std::exchange(nested_, {}); }
  const std::vector<client::Object*>& nested() const { return nested_; }

  // A large value: an object in shared memory, with one count. Null with an exception set.
  client::Object* store(PythonClient* owner);

 private:
  // False, without an exception: it is none of the simple values.
  bool encode_simple(PythonClient* owner, PyObject* value);
  bool pack(PythonClient* owner, PyObject* value, const char* what);
  bool take_refs(PythonClient* owner, PyObject* list);
  bool pickle(PythonClient* owner, PyObject* value, const char* what);
  bool take_whole();  // the pickle
  bool bring_classes(PythonClient* owner);
  bool dump(PyObject* function, PyObject* value, PyObject* callback);
  static bool became_object(PyObject* buffer);
  void clear_buffers();
  void clear_nested();

  PythonClient* owner_ = nullptr;
  wire::Encoding encoding_ = wire::Encoding::kNone;
  bool large_ = false;
  bool may_move_ = true;  // a buffer that lies in the store already becomes the object
  std::string bytes_;
  Owned whole_;                          // a large pickle, str or bytes
  std::vector<Py_buffer> buffers_;       // out of band
  std::vector<client::Object*> nested_;  // counted
};

// The value of a ready object, or null with its failure raised.
PyObject* decode_object(PythonClient* owner, client::Object* object);
// A value in a frame.
PyObject* decode_value(PythonClient* owner, const wire::ValueView& value);

// What `load_function` of a worker makes a callable of, given a payload (wire/function_payload.h): bytes, or (pickle, buffers)
// of one that lies in the store. The buffers are this caller's own, to which it may write. Null with an exception set.
PyObject* function_content(PythonClient* owner, std::string_view payload);

// See ref_reduce.
Py_ssize_t note_nested_ref(PythonRef* ref);
PyObject* nested_ref_function();

// Whether the handler of a signal that arrived while user code ran has raised the exception that is set. It is then not a
// failure of pickling, and must reach the program unchanged.
bool is_from_signal();

}  // namespace fray::python
