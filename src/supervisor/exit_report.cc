#include "supervisor/exit_report.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/fault.h"
#include "model/json_text.h"
#include "os/fd.h"
#include "os/files/whole_file.h"
#include "supervisor/order.h"

namespace fray::supervisor {

namespace {

using nlohmann::json;

constexpr off_t kBytesOfAll = 4096;
constexpr off_t kBytesOfReplica = 512;
constexpr const char* kDraftName = "/exit.json.new";

ExitReport report_of(const json& document) {
  ExitReport report;
  document.at("not_started").get_to(report.not_started);
  document.at("lost_parent").get_to(report.lost_parent);
  document.at("ended_unix_ns").get_to(report.ended_unix_ns);
  for (const json& each : document.at("replicas")) {
    ReplicaReport replica;
    each.at("exit_code").get_to(replica.exit_code);
    each.at("signal").get_to(replica.signal);
    each.at("asked").get_to(replica.asked);
    each.at("peak_memory_bytes").get_to(replica.peak_memory_bytes);
    each.at("out_bytes").get_to(replica.out_bytes);
    each.at("err_bytes").get_to(replica.err_bytes);
    replica.memory = each.value("memory", "");
    report.replicas.push_back(replica);
  }
  return report;
}

}  // namespace

Status ExitReport::reserve(const std::string& folder, std::uint32_t replicas) {
  const std::string draft = folder + kDraftName;
  os::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Status::io_error("cannot create " + draft, errno);
  const int error = ::posix_fallocate(file.get(), 0, kBytesOfAll + kBytesOfReplica * static_cast<off_t>(replicas));
  return error == 0 ? Status::ok() : Status::io_error("cannot take room for " + draft, error);
}

Status ExitReport::write(const std::string& folder) const {
  json ends = json::array();
  for (const ReplicaReport& replica : replicas) {
    ends.push_back({{"exit_code", replica.exit_code},
                    {"signal", replica.signal},
                    {"asked", replica.asked},
                    {"peak_memory_bytes", replica.peak_memory_bytes},
                    {"out_bytes", replica.out_bytes},
                    {"err_bytes", replica.err_bytes},
                    {"memory", replica.memory}});
  }
  const json document = {{"not_started", not_started},
                         {"lost_parent", lost_parent},
                         {"ended_unix_ns", ended_unix_ns},
                         {"replicas", std::move(ends)}};
  const std::string text = json_text(document);
  const std::string draft = folder + kDraftName;
  os::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Status::io_error("cannot open " + draft, errno);
  if (FRAY_FAULT("report_write", ENOSPC) ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0 || ::fsync(file.get()) != 0) {
    return Status::io_error("cannot write " + draft, errno);
  }
  if (::rename(draft.c_str(), (folder + kExitName).c_str()) != 0) {
    return Status::io_error("cannot write exit.json in " + folder, errno);
  }
  return os::sync_folder(folder);
}

Result<ExitReport> ExitReport::read(const std::string& folder) {
  FRAY_ASSIGN_OR_RETURN(std::string text, os::read_file(folder + kExitName));
  const json document = parse_json(text);
  try {
    if (document.is_object()) return report_of(document);
  } catch (const json::exception&) {
  }
  return Status(StatusCode::kCorruption, folder + kExitName + " is no report");
}

}  // namespace fray::supervisor
