#include "wire/direct.h"

namespace fray::wire {

std::size_t begin_frame(std::string& out, DirectType type, std::uint64_t id) {
  std::size_t begin = out.size();
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.id = id;
  out.append(reinterpret_cast<const char*>(&header), sizeof(header));
  return begin;
}

bool finish_frame(std::string& out, std::size_t begin) { return set_length(out, begin); }

bool append_frame(std::string& out, DirectType type, std::uint64_t id, std::string_view body) {
  std::size_t begin = begin_frame(out, type, id);
  out.append(body);
  return finish_frame(out, begin);
}

std::string returned_body(ReturnReason reason, const std::vector<std::uint64_t>& tasks) {
  std::string body;
  ByteWriter out(body);
  out.put(reason);
  out.put(static_cast<std::uint32_t>(tasks.size()));
  for (std::uint64_t task : tasks) out.put(task);
  return body;
}

Result<Returned> decode_returned(std::string_view body) {
  ByteReader in(body);
  Returned message;
  message.reason = in.get<ReturnReason>();
  message.tasks.resize(in.get_count(sizeof(std::uint64_t)));
  for (std::uint64_t& task : message.tasks) task = in.get<std::uint64_t>();
  if (!in.done() || message.reason > ReturnReason::kRetiring) {
    return Status(StatusCode::kCorruption, "a Returned message does not fit its format");
  }
  return message;
}

}  // namespace fray::wire
