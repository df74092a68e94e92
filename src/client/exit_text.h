// describe_loss: what a user is told when the process that ran a task is gone.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>
#include <string_view>

#include "wire/control.h"

namespace fray::client {

std::string describe_loss(std::string_view task, const wire::ExitFacts& facts);

}  // namespace fray::client
