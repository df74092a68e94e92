// `fray job submit` and `fray submit`.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/job_output.h"
#include "cli/job_text.h"
#include "cli/job_verbs.h"
#include "cli/node_session.h"
#include "cli/python_program.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_of_a_job(const std::string& name) {
  return name.starts_with("FRAY_JOB_") || name.starts_with("FRAY_REPLICA_") || name == "FRAY_NODE";
}

void set(JobSpec& spec, const std::string& name, const std::string& value) {
  auto found = std::find_if(spec.environment.begin(), spec.environment.end(),
                            [&](const auto& each) { return each.first == name; });
  if (found != spec.environment.end()) {
    found->second = value;
  } else {
    spec.environment.emplace_back(name, value);
  }
}

// This program's variables; the programs of its own environment are found first.
void inherit_environment(JobSpec& spec) {
  for (char** each = ::environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const std::size_t equals = text.find('=', 1);
    if (equals == std::string::npos || is_of_a_job(text.substr(0, equals))) continue;
    spec.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (std::getenv("PYTHONUNBUFFERED") == nullptr) spec.environment.emplace_back("PYTHONUNBUFFERED", "1");
  auto python = find_python("");
  if (!python.is_ok()) return;
  const std::string folder = fs::path(*python).parent_path().string();
  const char* path = std::getenv("PATH");
  const std::string had = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  if ((":" + had + ":").find(":" + folder + ":") == std::string::npos) set(spec, "PATH", folder + ":" + had);
}

Status add_variables(JobSpec& spec, const std::vector<std::string>& variables) {
  for (const std::string& text : variables) {
    const std::size_t equals = text.find('=');
    const char* own = equals == std::string::npos ? std::getenv(text.c_str()) : nullptr;
    if (equals == 0 || text.empty()) {
      return Status(StatusCode::kInvalidArgument, "--env must be NAME=VALUE or NAME, got no name");
    }
    if (equals == std::string::npos && own == nullptr) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--env {0}: this shell has no variable {0}; write {0}=VALUE", text));
    }
    set(spec, text.substr(0, equals), equals == std::string::npos ? own : text.substr(equals + 1));
  }
  return Status::ok();
}

Status add_resources(JobSpec& spec, const JobSubmitArguments& arguments) {
  FRAY_RETURN_IF_ERROR(spec.resources.set("CPU", arguments.cpus.value_or(1)));
  if (arguments.gpus) FRAY_RETURN_IF_ERROR(spec.resources.set("GPU", *arguments.gpus));
  if (!arguments.memory.empty()) {
    FRAY_ASSIGN_OR_RETURN(auto bytes, parse_size("--memory", arguments.memory));
    FRAY_RETURN_IF_ERROR(spec.resources.set("memory", static_cast<double>(bytes)));
  }
  if (arguments.resources.empty()) return Status::ok();
  FRAY_ASSIGN_OR_RETURN(json further, parse_resources("--resources", arguments.resources));
  for (const auto& [name, amount] : further.items()) {
    FRAY_RETURN_IF_ERROR(spec.resources.set(name, amount.get<double>()));
  }
  return Status::ok();
}

// "train" for `python train.py`, "sleep" for `sleep 9`.
std::string name_from(const std::vector<std::string>& command) {
  std::string chosen = command.front();
  for (const std::string& word : command) {
    if (word.ends_with(".py") || word.ends_with(".sh")) {
      chosen = word;
      break;
    }
  }
  std::string name = fs::path(chosen).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; }, '-');
  return name.empty() ? "job" : name;
}

Result<JobSpec> spec_of(const JobSubmitArguments& arguments) {
  JobSpec spec;
  spec.id = arguments.id;
  spec.name = arguments.name.empty() ? name_from(arguments.command) : arguments.name;
  spec.command = arguments.command;
  if (arguments.shell) {
    if (arguments.command.size() != 1) {
      return Status(StatusCode::kInvalidArgument, "--shell takes one COMMAND, in quotes");
    }
    spec.command = {"/bin/sh", "-c", arguments.command.front()};
  }
  std::error_code error;
  spec.folder = fs::absolute(arguments.folder, error).lexically_normal().string();
  if (arguments.folder.empty()) spec.folder = fs::current_path(error).string();
  inherit_environment(spec);
  FRAY_RETURN_IF_ERROR(add_variables(spec, arguments.variables));
  FRAY_RETURN_IF_ERROR(add_resources(spec, arguments));
  spec.replicas = arguments.replicas;
  spec.max_failures = arguments.max_failures;
  spec.max_preemptions = arguments.max_preemptions;
  spec.priority = arguments.priority;
  spec.max_processes = arguments.max_processes;
  spec.max_files = arguments.max_files;
  if (!arguments.deadline.empty()) {
    FRAY_ASSIGN_OR_RETURN(spec.deadline_seconds, parse_span("--deadline", arguments.deadline));
  }
  if (!arguments.grace.empty()) {
    FRAY_ASSIGN_OR_RETURN(spec.grace_seconds, parse_span("--grace", arguments.grace));
  }
  FRAY_RETURN_IF_ERROR(spec.check());
  return spec;
}

// A command in quotes is a file of that name, which is rarely meant.
void hint_at_quotes(const JobSubmitArguments& arguments) {
  if (arguments.shell || arguments.command.size() != 1 || arguments.command[0].find(' ') == std::string::npos) return;
  fmt::print(stderr, "hint: '{}' is taken for the name of one program; leave the quotes out, or add --shell\n",
             arguments.command[0]);
}

int follow(client::JobClient& jobs, const JobSubmitArguments& arguments, const char* command, const std::string& id) {
  watch_for_interrupts();
  const door::Patience patience{{}, was_interrupted};
  wire::OpenJobLog request;
  request.id = id;
  Status printed =
      arguments.json ? jobs.wait({id}, patience).status() : JobOutput(jobs, {}).print(request, true, patience);
  if (printed.code() == StatusCode::kCancelled) return detached(id);
  if (!printed.is_ok()) return report_failure(command, printed);
  auto text = jobs.get({id});
  if (!text.is_ok()) return report_failure(command, text.status());
  const json job = parse_json(*text)[0];
  if (arguments.json) {
    fmt::print("{}\n", json_text(job, 2));
  } else {
    fmt::print(stderr, "{}\n", job_end_line(job));
  }
  return exit_code_of_job(job);
}

}  // namespace

int run_job_submit(const JobSubmitArguments& arguments) {
  const char* command = arguments.start_node ? "submit" : "job submit";
  auto spec = spec_of(arguments);
  if (!spec.is_ok()) {
    fmt::print(stderr, "fray {}: {}\n", command, spec.status().message());
    return kExitUsage;
  }
  hint_at_quotes(arguments);
  auto session =
      arguments.start_node ? NodeSession::open_or_start(arguments.socket) : NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure(command, session.status());
  client::JobClient& jobs = (*session)->jobs();
  auto text = jobs.submit(std::move(spec).value());
  if (!text.is_ok()) return report_failure(command, text.status());
  const json job = parse_json(*text);
  const std::string id = job.value("id", "");
  if (arguments.no_wait) {
    fmt::print("{}\n", arguments.json ? json_text(job, 2) : id);
    if (!arguments.json) {
      fmt::print(stderr,
                 "Next:\n  fray job logs -f {0}   follows what it prints\n  fray job status {0}    how it is doing\n"
                 "  fray job stop {0}      ends it\n",
                 id);
    }
    return kExitOk;
  }
  if (!arguments.json) fmt::print(stderr, "job {}\n", id);
  return follow(jobs, arguments, command, id);
}

}  // namespace fray::cli
