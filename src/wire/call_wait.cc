#include "wire/call_wait.h"

#include "wire/decoded.h"

namespace fray::wire {

void CallWaits::encode(ByteWriter& out) const {
  out.put(probe);
  out.put(wait.call);
  out.put_string(wait.name);
  out.put(wait.places);
  out.put(wait.needed);
  out.put(static_cast<std::uint32_t>(wait.awaited.size()));
  for (const AwaitedCall& each : wait.awaited) {
    out.put(each.call);
    out.put(each.actor);
    out.put_string(each.name);
  }
}

Result<CallWaits> CallWaits::decode(std::string_view body) {
  ByteReader in(body);
  CallWaits message;
  message.probe = in.get<std::uint64_t>();
  message.wait.call = in.get<ObjectId>();
  message.wait.name = in.get_string();
  message.wait.places = in.get<std::uint32_t>();
  message.wait.needed = in.get<std::uint32_t>();
  message.wait.awaited.resize(in.get_count(sizeof(ObjectId) + sizeof(ActorId) + sizeof(std::uint32_t)));
  for (AwaitedCall& each : message.wait.awaited) {
    each.call = in.get<ObjectId>();
    each.actor = in.get<ActorId>();
    each.name = in.get_string();
  }
  return decoded(in, std::move(message), "CallWaits");
}

}  // namespace fray::wire
