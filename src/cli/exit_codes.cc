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

int exit_code_of_answer(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return kExitFailed;
    case StatusCode::kResourceExhausted:
    case StatusCode::kIoError:
      return kExitDisk;
    default:
      return exit_code_of(code);
  }
}

}  // namespace fray::cli
