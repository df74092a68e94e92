#include "node/clusters/program_refusal.h"

#include <string_view>

#include "base/exit_codes.h"

namespace fray::node {

namespace {

StatusCode code_of_exit(int code) {
  switch (code) {
    case kExitUsage:
      return StatusCode::kInvalidArgument;
    case kExitNotFound:
      return StatusCode::kNotFound;
    case kExitTimedOut:
      return StatusCode::kTimedOut;
    case kExitUnreachable:
      return StatusCode::kUnavailable;
    case kExitRefused:
      return StatusCode::kPermissionDenied;
    case kExitConflict:
      return StatusCode::kAlreadyExists;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

// Finds the line "fray job list: there is no …" behind notes that begin differently.
Status refusal_in(const OwnPrograms::Answer& answer) {
  std::string_view text = answer.errors;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::size_t begin = text.rfind("\nfray ");
  begin = begin == std::string_view::npos ? (text.starts_with("fray ") ? 0 : text.size()) : begin + 1;
  const std::string_view said = text.substr(begin);
  const std::size_t colon = said.find(": ");
  if (answer.exit_code != kExitOk && colon != std::string_view::npos) {
    return Status(code_of_exit(answer.exit_code), std::string(said.substr(colon + 2)));
  }
  if (answer.signal == 0) return Status::ok();
  return Status(StatusCode::kInternal, "the program that asks the cluster was killed; ask again");
}

}  // namespace fray::node
