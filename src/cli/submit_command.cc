#include "cli/submit_command.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <type_traits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "cli/amount.h"
#include "cli/clusters.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/job_text.h"
#include "cli/job_watch.h"
#include "cli/options.h"
#include "model/job_json.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

struct SubmitArguments {
  ClusterChoice choice;
  JobSpec spec;
  std::map<std::string, std::string> spans;  // the spans of time in the spec, by the names of their fields
  std::vector<std::string> variables;        // NAME=VALUE, or NAME for the value that it has in this process
  std::optional<double> cpus;
  std::optional<double> gpus;
  std::string memory;
  std::string resources;
  bool shell = false;
  bool no_wait = false;
  bool follow = false;  // accepted, and without effect: the command follows the output anyway
  bool json = false;
};

constexpr std::string_view kSeconds = "_seconds";

// The name of the option for a field: "--max-failures" for max_failures.
std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string span_option(const std::string& field) {
  return option_name(field.substr(0, field.size() - kSeconds.size()));
}

// Adds an option for each number of the spec, under the name of its field; names of times lose their unit.
struct NumberOptions {
  CLI::App& command;
  SubmitArguments& arguments;

  void operator()(const JobField& field, auto& value) const {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_integral_v<Value>) {
      command.add_option(option_name(field.name), value, field.meaning);
    } else if constexpr (std::is_floating_point_v<Value>) {
      command.add_option(span_option(field.name), arguments.spans[field.name],
                         fmt::format("{}, such as 90s or 2h", field.meaning));
    }
  }
};

void add_options(CLI::App& command, SubmitArguments& arguments) {
  JobSpec& spec = arguments.spec;
  command.footer(fmt::format("fray {} [OPTIONS] -- COMMAND [ARGUMENT...]\nCtrl-C detaches: the job goes on.",
                             arguments.choice.start_node ? "submit" : "job submit"));
  command.add_option("COMMAND", spec.command, "The program and its arguments, behind --; no shell reads them")
      ->required();
  command.add_option("--name", spec.name, "For people; on a node by default from the command");
  command
      .add_option("--id,--submission-id", spec.id,
                  "The job's id, so that a second submission is refused; by default a new one")
      ->check([](const std::string& id) { return id.empty() ? "must not be empty; leave it out for a new id" : ""; });
  command.add_option(
      "--folder,--working-dir", spec.folder,
      "Where it runs; by default here. To another cluster it is sent along, and by default nothing is; to "
      "Ray an archive too, or a URI");
  command.add_option("--cpus", arguments.cpus, "CPUs of each replica; by default 1, on a Ray cluster none");
  command.add_option("--gpus", arguments.gpus, "GPUs of each replica");
  command.add_option("--memory", arguments.memory, "Memory of each replica, such as 8GiB; more than that ends the job");
  command.add_option(
      "--resources", arguments.resources,
      R"(Further resources: {"TPU": 4} or TPU:4,head_node:1; on Iris the device by its kind, such as H100:8)");
  command.add_option("--env", arguments.variables, "NAME=VALUE, or NAME for this shell's own value; again for more")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--runtime-env", static_cast<std::string&>(spec.runtime_env),
                     R"(JSON, such as {"package_requirements": ["rich"]})");
  command.add_option("--metadata", spec.metadata, "KEY VALUE, shown with the job; again for more")
      ->allow_extra_args(false);
  JobSpec::visit(spec, NumberOptions{command, arguments});
  command.add_flag("--shell", arguments.shell, "COMMAND is one line for /bin/sh");
  CLI::Option* no_wait = command.add_flag("--no-wait", arguments.no_wait, "Print the job's id and return");
  command
      .add_flag("-f,--follow", arguments.follow,
                "Print what it prints, and end as it ends: what happens without it, too")
      ->excludes(no_wait);
  command.add_flag("--json", arguments.json, "One JSON document: with --no-wait the job, else how it ended");
  add_cluster_options(command, arguments.choice);
}

Status add_variables(const std::vector<std::string>& variables, Texts* environment) {
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
    (*environment)[text.substr(0, equals)] = equals == std::string::npos ? own : text.substr(equals + 1);
  }
  return Status::ok();
}

Status add_resources(const SubmitArguments& arguments, ResourceSet* resources) {
  if (!arguments.resources.empty()) {
    FRAY_ASSIGN_OR_RETURN(nlohmann::json further, parse_resources("--resources", arguments.resources));
    for (const auto& [name, amount] : further.items()) {
      if (!amount.is_number()) {
        return Status(StatusCode::kInvalidArgument, fmt::format("--resources: {} must be a number", name));
      }
      FRAY_RETURN_IF_ERROR(resources->set(name, amount.get<double>()));
    }
  }
  if (arguments.cpus) FRAY_RETURN_IF_ERROR(resources->set("CPU", *arguments.cpus));
  if (arguments.gpus) FRAY_RETURN_IF_ERROR(resources->set("GPU", *arguments.gpus));
  if (arguments.memory.empty()) return Status::ok();
  FRAY_ASSIGN_OR_RETURN(auto bytes, parse_size("--memory", arguments.memory));
  return resources->set("memory", static_cast<double>(bytes));
}

// The spec that the command line stands for. The cluster fills in the rest later.
Result<JobSpec> spec_of(const SubmitArguments& arguments) {
  JobSpec spec = arguments.spec;
  if (arguments.shell) {
    if (spec.command.size() != 1) return Status(StatusCode::kInvalidArgument, "--shell takes one COMMAND, in quotes");
    spec.command = {"/bin/sh", "-c", spec.command.front()};
  }
  if (!spec.runtime_env.empty() && !parse_json(spec.runtime_env).is_object()) {
    return Status(StatusCode::kInvalidArgument,
                  R"(--runtime-env takes a JSON object, such as {"package_requirements": ["rich"]})");
  }
  FRAY_RETURN_IF_ERROR(add_variables(arguments.variables, &spec.environment));
  FRAY_RETURN_IF_ERROR(add_resources(arguments, &spec.resources));
  Status read;
  JobSpec::visit(spec, [&](const JobField& field, auto& value) {
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
      const std::string& text = arguments.spans.at(field.name);
      if (text.empty() || !read.is_ok()) return;
      auto seconds = parse_span(span_option(field.name), text);
      if (seconds.is_ok()) value = *seconds;
      read = seconds.status();
    }
  });
  FRAY_RETURN_IF_ERROR(read);
  return spec;
}

// Refuses a whole command in one pair of quotes, which would be taken for the name of a file.
void hint_at_quotes(const SubmitArguments& arguments) {
  const std::vector<std::string>& command = arguments.spec.command;
  if (arguments.shell || command.size() != 1 || command[0].find(' ') == std::string::npos) return;
  log_line("hint: '{}' is taken for the name of one program; leave the quotes out, or add --shell\n", command[0]);
}

int tell_started(const SubmitArguments& arguments, const OpenCluster& cluster, const JobInfo& job) {
  if (arguments.json) {
    fmt::print("{}\n", json_text(job_json(job), 2));
    return kExitOk;
  }
  fmt::print("{}\n", job.id());
  log_line(
      "Next:\n  fray job logs -f {0}{1}   follows what it prints\n  fray job status {0}{1}    how it is doing\n"
      "  fray job stop {0}{1}      ends it\n",
      job.id(), cluster.option);
  return kExitOk;
}

int await_end(const std::string& command, const OpenCluster& cluster, const std::string& id) {
  auto jobs = cluster.jobs->wait({id}, {{}, was_interrupted});
  if (!jobs.is_ok()) return watch_failed(command, jobs.status(), id, cluster);
  fmt::print("{}\n", json_text(job_json(jobs->front()), 2));
  return exit_code_of_job(jobs->front());
}

int run_submit(const SubmitArguments& arguments) {
  const std::string command = arguments.choice.start_node ? "submit" : "job submit";
  auto spec = spec_of(arguments);
  if (!spec.is_ok()) return report_usage(command, spec.status());
  hint_at_quotes(arguments);
  OpenCluster cluster;
  if (const int code = open_cluster(command, arguments.choice, &cluster, &*spec); code != kExitOk) return code;
  watch_for_interrupts();
  auto job = cluster.jobs->submit(std::move(spec).value(), {{}, was_interrupted});
  if (!job.is_ok()) return report_failure(command, job.status());
  if (arguments.no_wait) return tell_started(arguments, cluster, *job);
  if (arguments.json) return await_end(command, cluster, job->id());
  log_line("job {}\n", job->id());
  return watch_job(command, cluster, {.id = job->id(), .follow = true}, {});
}

Command::Run add_submit_alone(CLI::App& command) { return add_submit(command, true); }

const Command kSubmit("submit", "Start a job on the node of this home, which is started if it does not run",
                      add_submit_alone);

}  // namespace

Command::Run add_submit(CLI::App& command, bool start_node) {
  auto arguments = std::make_shared<SubmitArguments>();
  arguments->choice.start_node = start_node;
  add_options(command, *arguments);
  return [arguments] { return run_submit(*arguments); };
}

}  // namespace fray::cli
