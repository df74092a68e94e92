#include "wire/actor.h"

#include "wire/create_actor.h"
#include "wire/decoded.h"
#include "wire/resources.h"

namespace fray::wire {

void CreateActor::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(max_restarts);
  out.put(static_cast<std::uint8_t>(detached));
  out.put(static_cast<std::uint8_t>(get_if_exists));
  out.put(static_cast<std::uint8_t>(event_loop));
  wire::encode(out, shape);
  for (const std::string* text : {&name_space, &name, &class_name, &description}) out.put_string(*text);
}

Result<CreateActor> CreateActor::decode(std::string_view body) {
  ByteReader in(body);
  CreateActor message;
  message.actor = in.get<ActorId>();
  message.max_restarts = in.get<std::int32_t>();
  message.detached = in.get<std::uint8_t>() != 0;
  message.get_if_exists = in.get<std::uint8_t>() != 0;
  message.event_loop = in.get<std::uint8_t>() != 0;
  message.shape = decode_work_shape(in);
  for (std::string* text : {&message.name_space, &message.name, &message.class_name, &message.description}) {
    *text = in.get_string();
  }
  return decoded(in, std::move(message), "CreateActor");
}

void ConstructActor::encode(ByteWriter& out) const {
  out.put(actor);
  out.put_string(constructor);
  out.put(static_cast<std::uint32_t>(held.size()));
  for (const ObjectId& id : held) out.put(id);
  wire::encode(out, failure);
}

Result<ConstructActor> ConstructActor::decode(std::string_view body) {
  ByteReader in(body);
  ConstructActor message;
  message.actor = in.get<ActorId>();
  message.constructor = in.get_string();
  message.held.resize(in.get_count(sizeof(ObjectId)));
  for (ObjectId& id : message.held) id = in.get<ObjectId>();
  message.failure = decode_value(in).to_value();
  return decoded(in, std::move(message), "ConstructActor");
}

void ActorName::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(static_cast<std::uint8_t>(no_restart));
}

Result<ActorName> ActorName::decode(std::string_view body) {
  ByteReader in(body);
  ActorName message;
  message.actor = in.get<ActorId>();
  message.no_restart = in.get<std::uint8_t>() != 0;
  return decoded(in, message, "ActorName");
}

void FindActor::encode(ByteWriter& out) const {
  out.put_string(name_space);
  out.put_string(name);
}

Result<FindActor> FindActor::decode(std::string_view body) {
  ByteReader in(body);
  FindActor message;
  message.name_space = in.get_string();
  message.name = in.get_string();
  return decoded(in, std::move(message), "FindActor");
}

void ActorFailure::encode(ByteWriter& out) const {
  wire::encode(out, error);
  out.put_string(text);
}

Result<ActorFailure> ActorFailure::decode(std::string_view body) {
  ByteReader in(body);
  ActorFailure message;
  message.error = decode_value(in).to_value();
  message.text = in.get_string();
  return decoded(in, std::move(message), "ActorFailure");
}

void ActorAnswer::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(code);
  out.put_string(message);
  out.put_string(description);
}

Result<ActorAnswer> ActorAnswer::decode(std::string_view body) {
  ByteReader in(body);
  ActorAnswer message;
  message.actor = in.get<ActorId>();
  message.code = in.get<StatusCode>();
  message.message = in.get_string();
  message.description = in.get_string();
  return decoded(in, std::move(message), "ActorAnswer");
}

void ActorNames::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(names.size()));
  for (const auto& [name_space, name] : names) {
    out.put_string(name_space);
    out.put_string(name);
  }
}

Result<ActorNames> ActorNames::decode(std::string_view body) {
  ByteReader in(body);
  ActorNames message;
  message.names.resize(in.get_count(2 * sizeof(std::uint32_t)));
  for (auto& [name_space, name] : message.names) {
    name_space = in.get_string();
    name = in.get_string();
  }
  return decoded(in, std::move(message), "ActorNames");
}

void ActorConnected::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(incarnation);
  out.put(pid);
}

Result<ActorConnected> ActorConnected::decode(std::string_view body) {
  ByteReader in(body);
  ActorConnected message;
  message.actor = in.get<ActorId>();
  message.incarnation = in.get<std::uint32_t>();
  message.pid = in.get<std::int32_t>();
  return decoded(in, message, "ActorConnected");
}

void ActorLost::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(static_cast<std::uint8_t>(dead));
  out.put(last_started);
  out.put(last_ended);
  for (const std::string* text : {&class_name, &name, &cause}) out.put_string(*text);
  wire::encode(out, error);
}

Result<ActorLost> ActorLost::decode(std::string_view body) {
  ByteReader in(body);
  ActorLost message;
  message.actor = in.get<ActorId>();
  message.dead = in.get<std::uint8_t>() != 0;
  message.last_started = in.get<std::uint64_t>();
  message.last_ended = in.get<std::uint64_t>();
  for (std::string* text : {&message.class_name, &message.name, &message.cause}) *text = in.get_string();
  message.error = decode_value(in).to_value();
  return decoded(in, std::move(message), "ActorLost");
}

void ActorDeath::encode(ByteWriter& out) const {
  out.put(executed);
  for (const std::string* part : {&class_name, &name, &text, &error}) out.put_string(*part);
}

Result<ActorDeath> ActorDeath::decode(std::string_view body) {
  ByteReader in(body);
  ActorDeath death;
  death.executed = in.get<Executed>();
  for (std::string* part : {&death.class_name, &death.name, &death.text, &death.error}) *part = in.get_string();
  return decoded(in, std::move(death), "ActorDeath");
}

void HostActor::encode(ByteWriter& out) const {
  out.put(actor);
  out.put(incarnation);
  out.put(cpus);
  out.put_string(constructor);
}

Result<HostActor> HostActor::decode(std::string_view body) {
  ByteReader in(body);
  HostActor message;
  message.actor = in.get<ActorId>();
  message.incarnation = in.get<std::uint32_t>();
  message.cpus = in.get<double>();
  message.constructor = in.get_string();
  return decoded(in, std::move(message), "HostActor");
}

}  // namespace fray::wire
