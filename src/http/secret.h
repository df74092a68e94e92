// draw_secret(): 256 random bits that nobody guesses, as 64 hexadecimal digits: tokens, codes of links, cookies.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kIoError when the kernel gives no random bytes.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::http {

Result<std::string> draw_secret();

}  // namespace fray::http
