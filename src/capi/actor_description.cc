#include "capi/actor_description.h"

#include "wire/codec.h"

namespace fray::capi {

namespace {
constexpr std::string_view kMagic = "FRAY\1";
}  // namespace

std::string ActorDescription::encode() const { return std::string(kMagic) + wire::encoded(*this); }

std::optional<ActorDescription> ActorDescription::decode(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  auto read = wire::decode<ActorDescription>(bytes.substr(kMagic.size()));
  return read.is_ok() ? std::optional(std::move(read).value()) : std::nullopt;
}

}  // namespace fray::capi
