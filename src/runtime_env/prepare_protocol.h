// The protocol by which one process has another prepare an environment: `fray env prepare`.
//
// descriptor 3   a socket: the description as JSON, ended by a zero byte. Its end of file later means that the answer
// has
//                  been taken, or is not wanted any more, and ends the build.
//   descriptor 3   back: lines of JSON: {"state": TEXT} any number of times, and {"prepared": {…}} or
//                  {"code": NUMBER, "error": TEXT} once. Entries of the cache are held until the socket ends.
//
// Threading:  answer_preparation() is the whole life of the process.
// Ownership:  takes the descriptor.
// Failure:    a description that does not fit is answered with its error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "os/fd.h"
#include "runtime_env/prepared_env.h"

namespace fray::runtime_env {

// One line of an answer.
struct PrepareNews {
  std::string state;                       // not empty: what it does now
  std::optional<Result<PreparedEnv>> end;  // the last news
};
PrepareNews parse_prepare_news(std::string_view line);

// Returns the exit code of the process.
int answer_preparation(os::Fd socket);

}  // namespace fray::runtime_env
