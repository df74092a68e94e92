// content_hash(): a hash of a file's content, as 16 hexadecimal digits.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    kNotFound, kInvalidArgument for an empty file, and what the kernel refuses.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::os {

Result<std::string> content_hash(const std::string& path);

}  // namespace fray::os
