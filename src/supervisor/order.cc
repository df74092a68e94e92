#include "supervisor/order.h"

#include <fmt/format.h>

#include "os/whole_file.h"
#include "wire/bytes.h"

namespace fray::supervisor {

namespace {

constexpr std::uint32_t kFormat = 2;

void put_strings(wire::ByteWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) out.put_string(text);
}

std::vector<std::string> get_strings(wire::ByteReader& in) {
  std::vector<std::string> texts(in.get_count(sizeof(std::uint32_t)));
  for (std::string& text : texts) text = in.get_string();
  return texts;
}

}  // namespace

Status Order::write(const std::string& path) const {
  std::string bytes;
  wire::ByteWriter out(bytes);
  out.put(kFormat);
  out.put_string(job);
  out.put(attempt);
  out.put(replicas);
  put_strings(out, command);
  out.put_string(folder);
  out.put_string(environment_file);
  out.put(static_cast<std::uint32_t>(variables.size()));
  for (const auto& [name, value] : variables) {
    out.put_string(name);
    out.put_string(value);
  }
  out.put(grace_seconds);
  out.put(static_cast<std::int32_t>(dies_with));
  out.put(log.segment_bytes);
  out.put(log.segments);
  for (std::uint64_t most : {limits.memory_bytes, limits.processes, limits.files}) out.put(most);
  out.put(static_cast<std::uint8_t>(limits.processes_by_group_only));
  return os::write_file(path, bytes, os::Durability::kNone);
}

Result<Order> Order::read(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(std::string bytes, os::read_file(path));
  wire::ByteReader in(bytes);
  Order order;
  const auto format = in.get<std::uint32_t>();
  order.job = in.get_string();
  order.attempt = in.get<std::uint32_t>();
  order.replicas = in.get<std::uint32_t>();
  order.command = get_strings(in);
  order.folder = in.get_string();
  order.environment_file = in.get_string();
  order.variables.resize(in.get_count(2 * sizeof(std::uint32_t)));
  for (auto& [name, value] : order.variables) {
    name = in.get_string();
    value = in.get_string();
  }
  order.grace_seconds = in.get<double>();
  order.dies_with = in.get<std::int32_t>();
  order.log.segment_bytes = in.get<std::uint64_t>();
  order.log.segments = in.get<std::uint32_t>();
  for (std::uint64_t* most : {&order.limits.memory_bytes, &order.limits.processes, &order.limits.files}) {
    *most = in.get<std::uint64_t>();
  }
  order.limits.processes_by_group_only = in.get<std::uint8_t>() != 0;
  if (format != kFormat || !in.done() || order.command.empty()) {
    return Status(StatusCode::kCorruption, path + " is no order of this release");
  }
  return order;
}

std::string attempt_folder(const std::string& job_folder, std::uint32_t attempt) {
  return fmt::format("{}/attempt-{}", job_folder, attempt);
}

std::string error_name(std::uint32_t replica) { return fmt::format("/{}.error", replica); }

}  // namespace fray::supervisor
