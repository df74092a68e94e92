// The findings of `fray doctor`, as text for people and as JSON.
//
// Threading:  functions.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_rules.h"
#include "os/terminal_style.h"

namespace fray::cli {

std::string doctor_text(const std::vector<Finding>& findings, const os::TerminalStyle& style);
std::string doctor_json(const std::vector<Finding>& findings);

}  // namespace fray::cli
