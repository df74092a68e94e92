// `fray doctor`: looks at this machine and says line by line what is well, and what to do where it is not.
//
// Threading:  one thread; blocks while a Python is asked for its versions.
// Ownership:  add_doctor() fills `arguments`, which must outlive the parsing.
// Failure:    run_doctor() returns kExitFailed when something stops the engine, else kExitOk.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/doctor_rules.h"
#include "os/terminal_style.h"

namespace fray::cli {

struct DoctorArguments {
  bool json = false;
  std::string colour = "auto";
};

void add_doctor(CLI::App& app, DoctorArguments& arguments);
int run_doctor(const DoctorArguments& arguments);

std::string doctor_text(const std::vector<Finding>& findings, const os::TerminalStyle& style);
std::string doctor_json(const std::vector<Finding>& findings);

}  // namespace fray::cli
