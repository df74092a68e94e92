#include "capi/actor_description.h"

#include "wire/bytes.h"

namespace fray::capi {

namespace {
constexpr std::string_view kMagic = "FRAY\1";
}  // namespace

std::string ActorDescription::encode() const {
  std::string bytes;
  wire::ByteWriter out(bytes);
  out.put_raw(kMagic);
  out.put(static_cast<std::uint8_t>(language));
  out.put_string(class_name);
  out.put_string(name);
  out.put_string(name_space);
  out.put(max_task_retries);
  out.put(max_concurrency);
  out.put(max_pending_calls);
  return bytes;
}

std::optional<ActorDescription> ActorDescription::decode(std::string_view bytes) {
  wire::ByteReader in(bytes);
  if (in.get_raw(kMagic.size()) != kMagic) return std::nullopt;
  ActorDescription read;
  read.language = in.get<std::uint8_t>();
  read.class_name = in.get_string();
  read.name = in.get_string();
  read.name_space = in.get_string();
  read.max_task_retries = in.get<std::int32_t>();
  read.max_concurrency = in.get<std::int32_t>();
  read.max_pending_calls = in.get<std::int64_t>();
  if (!in.done()) return std::nullopt;
  return read;
}

}  // namespace fray::capi
