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

bool append_result(std::string& out, std::uint64_t task, const ResultHead& head, std::string_view values) {
  const std::size_t begin = begin_frame(out, DirectType::kResult, task);
  ByteWriter(out).put(head);
  out.append(values);
  return finish_frame(out, begin);
}

bool append_item(std::string& out, std::uint64_t task, std::uint32_t index, std::string_view value) {
  const std::size_t begin = begin_frame(out, DirectType::kItem, task);
  ByteWriter(out).put(index);
  out.append(value);
  return finish_frame(out, begin);
}

}  // namespace fray::wire
