// number_in(): a number among the parameters of a request's address.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kInvalidArgument for a text that is not a whole number, or a number above `most`.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "http/message.h"

namespace fray::http {

Result<std::uint64_t> number_in(const Request& request, const std::string& name, std::uint64_t most,
                                std::uint64_t otherwise = 0);

}  // namespace fray::http
