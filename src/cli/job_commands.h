// JobCommands: `fray job …` and `fray submit` on the command line.
//
// Threading:  one thread.
// Ownership:  owns what they parse into.
// Failure:    run() returns nothing when none of them was given.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include "cli/job_arguments.h"

namespace fray::cli {

class JobCommands {
 public:
  void add(CLI::App& app);
  std::optional<int> run(const CLI::App& app) const;

 private:
  static void add_submit(CLI::App& command, JobSubmitArguments& arguments);
  CLI::App* add_names(CLI::App& job, const char* name, const char* what, bool required);
  void add_logs(CLI::App& job);

  JobSubmitArguments submit_;
  JobLogArguments log_;
  JobNameArguments names_;
  CLI::App* job_ = nullptr;
};

}  // namespace fray::cli
