#include "wire/failure.h"

namespace fray::wire {

void Failure::encode(ByteWriter& out) const {
  out.put_string(task);
  out.put_string(type_name);
  out.put_string(message);
  out.put_string(traceback);
}

Result<Failure> Failure::decode(std::string_view bytes) {
  ByteReader in(bytes);
  Failure failure;
  failure.task = in.get_string();
  failure.type_name = in.get_string();
  failure.message = in.get_string();
  failure.traceback = in.get_string();
  if (!in.done()) return Status(StatusCode::kCorruption, "the report of a failure does not fit its format");
  return failure;
}

}  // namespace fray::wire
