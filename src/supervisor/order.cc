#include "supervisor/order.h"

#include <fmt/format.h>

#include "os/files/whole_file.h"
#include "wire/codec.h"

namespace fray::supervisor {

Status Order::write(const std::string& path) const {
  std::string bytes;
  wire::ByteWriter out(bytes);
  out.put(kFormat);
  wire::encode(out, *this);
  return os::write_file(path, bytes, os::Durability::kNone);
}

Result<Order> Order::read(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(std::string bytes, os::read_file(path));
  wire::ByteReader in(bytes);
  Order order;
  const auto format = in.get<std::uint32_t>();
  wire::decode(in, order);
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
