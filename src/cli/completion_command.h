// `fray completion bash|zsh|fish`: a script that completes the commands and options of this program.
//
//   eval "$(fray completion bash)"
//
// The script is written from the same tables that the parser uses.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    the parser refuses other shells.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace fray::cli {

void add_completion(CLI::App& app, std::string& shell);
int run_completion(const CLI::App& app, const std::string& shell);

}  // namespace fray::cli
