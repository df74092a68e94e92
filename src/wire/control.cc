#include "wire/control.h"

#include "wire/decoded.h"
#include "wire/demand.h"
#include "wire/lease.h"
#include "wire/memory.h"
#include "wire/object.h"
#include "wire/process.h"
#include "wire/resources.h"
#include "wire/welcome.h"
#include "wire/worker_key.h"

namespace fray::wire {

namespace {

void encode_strings(ByteWriter& out, const std::vector<std::string>& strings) {
  out.put(static_cast<std::uint32_t>(strings.size()));
  for (const std::string& text : strings) out.put_string(text);
}

std::vector<std::string> decode_strings(ByteReader& in) {
  std::vector<std::string> strings(in.get_count(sizeof(std::uint32_t)));
  for (std::string& text : strings) text = in.get_string();
  return strings;
}

void encode_variables(ByteWriter& out, const std::vector<std::pair<std::string, std::string>>& variables) {
  out.put(static_cast<std::uint32_t>(variables.size()));
  for (const auto& [name, value] : variables) {
    out.put_string(name);
    out.put_string(value);
  }
}

std::vector<std::pair<std::string, std::string>> decode_variables(ByteReader& in) {
  std::vector<std::pair<std::string, std::string>> variables(in.get_count(2 * sizeof(std::uint32_t)));
  for (auto& [name, value] : variables) {
    name = in.get_string();
    value = in.get_string();
  }
  return variables;
}

}  // namespace

std::string frame(ControlType type, std::uint64_t id) {
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.id = id;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

void DefineKey::encode(ByteWriter& out) const {
  out.put(key);
  out.put(prestart);
  encode_strings(out, description.command);
  encode_strings(out, description.module_path);
  out.put_string(description.folder);
  encode_variables(out, description.environment);
  out.put_string(description.runtime_env);
}

Result<DefineKey> DefineKey::decode(std::string_view body) {
  ByteReader in(body);
  DefineKey message;
  message.key = in.get<std::uint32_t>();
  message.prestart = in.get<std::uint32_t>();
  message.description.command = decode_strings(in);
  message.description.module_path = decode_strings(in);
  message.description.folder = in.get_string();
  message.description.environment = decode_variables(in);
  message.description.runtime_env = in.get_string();
  return decoded(in, std::move(message), "DefineKey");
}

void ObjectIds::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(ids.size()));
  for (const ObjectId& id : ids) out.put(id);
}

Result<ObjectIds> ObjectIds::decode(std::string_view body) {
  ByteReader in(body);
  ObjectIds message;
  message.ids.resize(in.get_count(sizeof(ObjectId)));
  for (ObjectId& id : message.ids) id = in.get<ObjectId>();
  return decoded(in, std::move(message), "ObjectIds");
}

void WorkerLost::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint8_t>(expected));
  out.put(facts.pid);
  out.put(facts.exit_code);
  out.put(facts.signal);
  out.put(facts.peak_memory_bytes);
  out.put(facts.last_task);
  out.put_string(facts.task);
  out.put_string(facts.log_tail);
  out.put_string(facts.out_of_memory);
  out.put_string(facts.why_killed);
}

Result<WorkerLost> WorkerLost::decode(std::string_view body) {
  ByteReader in(body);
  WorkerLost message;
  message.expected = in.get<std::uint8_t>() != 0;
  message.facts.pid = in.get<std::int32_t>();
  message.facts.exit_code = in.get<std::int32_t>();
  message.facts.signal = in.get<std::int32_t>();
  message.facts.peak_memory_bytes = in.get<std::uint64_t>();
  message.facts.last_task = in.get<std::uint64_t>();
  message.facts.task = in.get_string();
  message.facts.log_tail = in.get_string();
  message.facts.out_of_memory = in.get_string();
  message.facts.why_killed = in.get_string();
  return decoded(in, std::move(message), "WorkerLost");
}

void Hello::encode(ByteWriter& out) const {
  out.put(role);
  out.put(pid);
  out.put(process);
  out.put_string(release);
}

Result<Hello> Hello::decode(std::string_view body) {
  ByteReader in(body);
  Hello message;
  message.role = in.get<decltype(message.role)>();
  message.pid = in.get<decltype(message.pid)>();
  message.process = in.get<decltype(message.process)>();
  message.release = in.get_string();
  return decoded(in, std::move(message), "Hello");
}

void Welcome::encode(ByteWriter& out) const {
  out.put(session.epoch);
  out.put(session.process);
  out.put(session.max_workers);
  out.put(session.store_limit_bytes);
  wire::encode(out, total);
  out.put_string(session.release);
  out.put_string(session.folder);
  out.put(static_cast<std::uint8_t>(session.in_job));
}

Result<Welcome> Welcome::decode(std::string_view body) {
  ByteReader in(body);
  Welcome message;
  Session& session = message.session;
  session.epoch = in.get<decltype(session.epoch)>();
  session.process = in.get<decltype(session.process)>();
  session.max_workers = in.get<decltype(session.max_workers)>();
  session.store_limit_bytes = in.get<decltype(session.store_limit_bytes)>();
  message.total = decode_resource_set(in);
  session.release = in.get_string();
  session.folder = in.get_string();
  session.in_job = in.get<std::uint8_t>() != 0;
  return decoded(in, std::move(message), "Welcome");
}

void Demand::encode(ByteWriter& out) const {
  out.put(demand);
  out.put(count);
  wire::encode(out, shape);
}

Result<Demand> Demand::decode(std::string_view body) {
  ByteReader in(body);
  Demand message;
  message.demand = in.get<decltype(message.demand)>();
  message.count = in.get<decltype(message.count)>();
  message.shape = decode_work_shape(in);
  return decoded(in, std::move(message), "Demand");
}

void Grant::encode(ByteWriter& out) const {
  out.put(demand);
  out.put(worker);
  out.put(pid);
}

Result<Grant> Grant::decode(std::string_view body) {
  ByteReader in(body);
  Grant message;
  message.demand = in.get<decltype(message.demand)>();
  message.worker = in.get<decltype(message.worker)>();
  message.pid = in.get<decltype(message.pid)>();
  return decoded(in, std::move(message), "Grant");
}

void Lease::encode(ByteWriter& out) const {
  out.put(client);
  out.put(cpus);
}

Result<Lease> Lease::decode(std::string_view body) {
  ByteReader in(body);
  Lease message;
  message.client = in.get<decltype(message.client)>();
  message.cpus = in.get<double>();
  return decoded(in, std::move(message), "Lease");
}

void BindDevices::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(devices.size()));
  for (const auto& [kind, indices] : devices) {
    out.put_string(kind);
    out.put(static_cast<std::uint32_t>(indices.size()));
    for (std::uint32_t index : indices) out.put(index);
  }
  encode_variables(out, environment);
}

Result<BindDevices> BindDevices::decode(std::string_view body) {
  ByteReader in(body);
  BindDevices message;
  const std::uint32_t kinds = in.get_count(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < kinds && in.ok(); ++i) {
    std::vector<std::uint32_t>& indices = message.devices[std::string(in.get_string())];
    indices.resize(in.get_count(sizeof(std::uint32_t)));
    for (std::uint32_t& index : indices) index = in.get<std::uint32_t>();
  }
  message.environment = decode_variables(in);
  return decoded(in, std::move(message), "BindDevices");
}

void Reclaim::encode(ByteWriter& out) const {
  out.put(count);
  out.put(demand);
}

Result<Reclaim> Reclaim::decode(std::string_view body) {
  ByteReader in(body);
  Reclaim message;
  message.count = in.get<decltype(message.count)>();
  message.demand = in.get<decltype(message.demand)>();
  return decoded(in, std::move(message), "Reclaim");
}

void ObjectLost::encode(ByteWriter& out) const {
  out.put(object);
  out.put(code);
  out.put_string(message);
}

Result<ObjectLost> ObjectLost::decode(std::string_view body) {
  ByteReader in(body);
  ObjectLost message;
  message.object = in.get<decltype(message.object)>();
  message.code = in.get<decltype(message.code)>();
  message.message = in.get_string();
  return decoded(in, std::move(message), "ObjectLost");
}

void SegmentInfo::encode(ByteWriter& out) const {
  out.put(segment);
  out.put(size);
  out.put_string(error);
}

Result<SegmentInfo> SegmentInfo::decode(std::string_view body) {
  ByteReader in(body);
  SegmentInfo message;
  message.segment = in.get<decltype(message.segment)>();
  message.size = in.get<decltype(message.size)>();
  message.error = in.get_string();
  return decoded(in, std::move(message), "SegmentInfo");
}

void SegmentName::encode(ByteWriter& out) const {
  out.put(segment);
  out.put(static_cast<std::uint8_t>(ok));
}

Result<SegmentName> SegmentName::decode(std::string_view body) {
  ByteReader in(body);
  SegmentName message;
  message.segment = in.get<decltype(message.segment)>();
  message.ok = in.get<std::uint8_t>() != 0;
  return decoded(in, std::move(message), "SegmentName");
}

void FreeRange::encode(ByteWriter& out) const {
  out.put(location);
  out.put(static_cast<std::uint8_t>(reuse));
}

Result<FreeRange> FreeRange::decode(std::string_view body) {
  ByteReader in(body);
  FreeRange message;
  message.location = in.get<decltype(message.location)>();
  message.reuse = in.get<std::uint8_t>() != 0;
  return decoded(in, std::move(message), "FreeRange");
}

void Reserve::encode(ByteWriter& out) const { out.put(bytes); }

Result<Reserve> Reserve::decode(std::string_view body) {
  ByteReader in(body);
  Reserve message;
  message.bytes = in.get<decltype(message.bytes)>();
  return decoded(in, std::move(message), "Reserve");
}

void Reserved::encode(ByteWriter& out) const {
  out.put(bytes);
  out.put_string(error);
}

Result<Reserved> Reserved::decode(std::string_view body) {
  ByteReader in(body);
  Reserved message;
  message.bytes = in.get<decltype(message.bytes)>();
  message.error = in.get_string();
  return decoded(in, std::move(message), "Reserved");
}

void YieldMemory::encode(ByteWriter& out) const { out.put(static_cast<std::uint8_t>(announce)); }

Result<YieldMemory> YieldMemory::decode(std::string_view body) {
  ByteReader in(body);
  YieldMemory message;
  message.announce = in.get<std::uint8_t>() != 0;
  return decoded(in, message, "YieldMemory");
}

void Log::encode(ByteWriter& out) const {
  out.put(pid);
  out.put(stream);
  out.put_string(task);
  out.put_string(text);
}

Result<Log> Log::decode(std::string_view body) {
  ByteReader in(body);
  Log message;
  message.pid = in.get<decltype(message.pid)>();
  message.stream = in.get<decltype(message.stream)>();
  message.task = in.get_string();
  message.text = in.get_string();
  return decoded(in, std::move(message), "Log");
}

void Deadlock::encode(ByteWriter& out) const {
  out.put(demand);
  out.put(code);
  out.put_string(reason);
}

Result<Deadlock> Deadlock::decode(std::string_view body) {
  ByteReader in(body);
  Deadlock message;
  message.demand = in.get<decltype(message.demand)>();
  message.code = in.get<StatusCode>();
  message.reason = in.get_string();
  return decoded(in, std::move(message), "Deadlock");
}

void Text::encode(ByteWriter& out) const {
  out.put(code);
  out.put_string(text);
}

Result<Text> Text::decode(std::string_view body) {
  ByteReader in(body);
  Text message;
  message.code = in.get<StatusCode>();
  message.text = in.get_string();
  return decoded(in, std::move(message), "Text");
}

void Spawned::encode(ByteWriter& out) const {
  out.put(pid);
  out.put_string(error);
}

Result<Spawned> Spawned::decode(std::string_view body) {
  ByteReader in(body);
  Spawned message;
  message.pid = in.get<decltype(message.pid)>();
  message.error = in.get_string();
  return decoded(in, std::move(message), "Spawned");
}

void Exited::encode(ByteWriter& out) const {
  out.put(pid);
  out.put(wait_status);
  out.put(peak_memory_bytes);
}

Result<Exited> Exited::decode(std::string_view body) {
  ByteReader in(body);
  Exited message;
  message.pid = in.get<decltype(message.pid)>();
  message.wait_status = in.get<decltype(message.wait_status)>();
  message.peak_memory_bytes = in.get<decltype(message.peak_memory_bytes)>();
  return decoded(in, std::move(message), "Exited");
}

void Complete::encode(ByteWriter& out) const {
  out.put(object);
  out.put(holder);
  wire::encode(out, value);
}

Result<Complete> Complete::decode(std::string_view body) {
  ByteReader in(body);
  Complete message;
  message.object = in.get<decltype(message.object)>();
  message.holder = in.get<decltype(message.holder)>();
  message.value = decode_value(in).to_value();
  return decoded(in, std::move(message), "Complete");
}

void ObjectReady::encode(ByteWriter& out) const {
  out.put(object);
  wire::encode(out, value);
}

Result<ObjectReady> ObjectReady::decode(std::string_view body) {
  ByteReader in(body);
  ObjectReady message;
  message.object = in.get<decltype(message.object)>();
  message.value = decode_value(in).to_value();
  return decoded(in, std::move(message), "ObjectReady");
}

}  // namespace fray::wire
