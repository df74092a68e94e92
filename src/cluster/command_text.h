// command_text(): words as one line that a POSIX shell reads back as those words.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument for no words, and for one with a zero byte.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::cluster {

Result<std::string> command_text(const std::vector<std::string>& words);

}  // namespace fray::cluster
