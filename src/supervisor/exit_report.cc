#include "supervisor/exit_report.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/fault.h"
#include "model/json_fields.h"
#include "os/fd.h"
#include "os/files/whole_file.h"
#include "supervisor/order.h"

namespace fray::supervisor {

namespace {

constexpr off_t kBytesOfAll = 4096;
constexpr off_t kBytesOfReplica = 512;
constexpr const char* kDraftName = "/exit.json.new";

}  // namespace

Status ExitReport::reserve(const std::string& folder, std::uint32_t replicas) {
  const std::string draft = folder + kDraftName;
  os::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Status::io_error("cannot create " + draft, errno);
  const int error = ::posix_fallocate(file.get(), 0, kBytesOfAll + kBytesOfReplica * static_cast<off_t>(replicas));
  return error == 0 ? Status::ok() : Status::io_error("cannot take room for " + draft, error);
}

Status ExitReport::write(const std::string& folder) const {
  const std::string text = fields_text(*this);
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
  return read_fields<ExitReport>(text, folder + kExitName + " is no report");
}

}  // namespace fray::supervisor
