// Portable values: encodes the few Python types that other languages can read, as MessagePack
// (docs/formats/portable-values.md).
//
// Threading:  any thread with the GIL.
// Ownership:  packing fills buffers and counted refs of its caller; unpacking returns new references.
// Failure:    false or null with a Python exception set; SerializationError names the type that other languages lack.
#pragma once

#include <string>
#include <vector>

#include "refs.h"
#include "store/buffer_layout.h"

namespace fray::python {

// What lies beside the bytes of a packed value.
struct PackedParts {
  PythonClient* owner;
  std::vector<Py_buffer>* buffers;
  std::vector<client::Object*>* refs;  // counted
};
bool pack_portable(const PackedParts& parts, PyObject* value, const char* what, std::string* out);

struct UnpackedParts {
  PythonClient* owner;
  client::Object* object;  // whose bytes they are; null for inline values
  store::Pin pin;
  const std::vector<std::span<const std::byte>>* buffers;
  const std::vector<client::Object*>* refs;
};
PyObject* unpack_portable(const UnpackedParts& parts, std::string_view bytes);

}  // namespace fray::python
