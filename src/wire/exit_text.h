// The text that a user reads when a worker process has ended.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>
#include <string_view>

#include "wire/lease.h"

namespace fray::wire {

// "pid 12 was killed by signal 9 (SIGKILL); its peak memory was ...; its last output: ..."
std::string describe_exit(const ExitFacts& facts);
std::string describe_loss(std::string_view task, const ExitFacts& facts);

}  // namespace fray::wire
