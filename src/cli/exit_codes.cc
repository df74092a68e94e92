#include "cli/exit_codes.h"

namespace fray::cli {

int exit_code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
      return kExitUsage;
    case StatusCode::kNotFound:
      return kExitNotFound;
    case StatusCode::kTimedOut:
      return kExitTimedOut;
    case StatusCode::kUnavailable:
      return kExitUnreachable;
    case StatusCode::kPermissionDenied:
      return kExitRefused;
    case StatusCode::kAlreadyExists:
      return kExitConflict;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

}  // namespace fray::cli
