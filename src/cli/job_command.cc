// `fray job …`: the commands about jobs, for every kind of cluster. `fray job submit` is in submit_command.cc.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/clusters.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/job_output.h"
#include "cli/job_text.h"
#include "cli/job_watch.h"
#include "cli/options.h"
#include "cli/submit_command.h"
#include "model/job_json.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

using cluster::Infos;

constexpr double kShortestWaitSeconds = 0.5;                 // in which a node says that the jobs have ended
constexpr double kLongestWaitSeconds = 100.0 * 365 * 86400;  // what a clock counts in nanoseconds is three times that

struct JobArguments {
  ClusterChoice choice;
  std::vector<std::string> ids;
  std::string timeout;  // wait
  std::string state;    // list
  bool json = false;
};

struct JobLogArguments {
  ClusterChoice choice;
  cluster::LogRequest request;
  std::string since;
  std::string grep;
  bool json = false;
};

void print_list(const Infos& jobs) {
  fmt::print("{}\n", json_text({{"schema", "fray/v1"}, {"jobs", job_list_json(jobs)}}, 2));
}

// Sends the request of a command, and prints the answer, as JSON or in the command's own form.
template <typename Ask, typename Show>
int run_verb(const std::string& command, const JobArguments& arguments, Ask ask, Show show) {
  OpenCluster cluster;
  if (const int code = open_cluster(command, arguments.choice, &cluster); code != kExitOk) return code;
  Result<Infos> jobs = ask(*cluster.jobs);
  if (!jobs.is_ok()) return report_failure(command, jobs.status());
  arguments.json ? print_list(*jobs) : show(*jobs);
  return kExitOk;
}

int run_job_list(const JobArguments& arguments) {
  auto ask = [&](cluster::Jobs& jobs) -> Result<Infos> {
    FRAY_ASSIGN_OR_RETURN(Infos found, arguments.ids.empty() ? jobs.list({}) : jobs.get(arguments.ids, {}));
    std::erase_if(
        found, [&](const JobInfo& job) { return !arguments.state.empty() && to_string(job.state) != arguments.state; });
    return found;
  };
  return run_verb("job list", arguments, ask, [](const Infos& jobs) { fmt::print("{}", job_table(jobs)); });
}

int run_job_status(const JobArguments& arguments) {
  OpenCluster cluster;
  if (const int code = open_cluster("job status", arguments.choice, &cluster); code != kExitOk) return code;
  Result<Infos> jobs = cluster.jobs->get(arguments.ids, {});
  if (!jobs.is_ok()) return report_failure("job status", jobs.status());
  if (arguments.json && jobs->size() == 1) {
    fmt::print("{}\n", json_text(job_json(jobs->front()), 2));
  } else if (arguments.json) {
    print_list(*jobs);
  } else {
    for (const JobInfo& job : *jobs) fmt::print("{}", job_page(job));
  }
  return kExitOk;
}

int run_job_stop(const JobArguments& arguments) {
  return run_verb(
      "job stop", arguments, [&](cluster::Jobs& jobs) { return jobs.stop(arguments.ids, {}); },
      [](const Infos& jobs) {
        for (const JobInfo& job : jobs) {
          fmt::print("{}\n", job.has_ended() ? job_end_line(job) : fmt::format("job {} is asked to end", job.id()));
        }
      });
}

int run_job_delete(const JobArguments& arguments) {
  return run_verb(
      "job delete", arguments, [&](cluster::Jobs& jobs) { return jobs.remove(arguments.ids, {}); },
      [](const Infos& jobs) {
        for (const JobInfo& job : jobs) fmt::print("deleted job {}\n", job.id());
      });
}

int run_job_wait(const JobArguments& arguments) {
  Patience patience{{}, was_interrupted};
  if (!arguments.timeout.empty()) {
    auto seconds = parse_span("--timeout", arguments.timeout);
    if (!seconds.is_ok()) return report_usage("job wait", seconds.status());
    patience.deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(
                            std::clamp(*seconds, kShortestWaitSeconds, kLongestWaitSeconds)));
  }
  OpenCluster cluster;
  if (const int code = open_cluster("job wait", arguments.choice, &cluster); code != kExitOk) return code;
  watch_for_interrupts();
  Result<Infos> jobs = cluster.jobs->wait(arguments.ids, patience);
  if (!jobs.is_ok()) return watch_failed("job wait", jobs.status(), arguments.ids[0], cluster);
  int code = kExitOk;
  for (const JobInfo& job : *jobs) {
    if (!arguments.json) fmt::print("{}\n", job_end_line(job));
    if (code == kExitOk) code = exit_code_of_job(job);
  }
  if (arguments.json) print_list(*jobs);
  return code;
}

int run_job_logs(JobLogArguments& arguments) {
  if (!arguments.since.empty()) {
    auto seconds = parse_span("--since", arguments.since);
    if (!seconds.is_ok()) return report_usage("job logs", seconds.status());
    const double since = std::max(0.0, static_cast<double>(std::time(nullptr)) - *seconds);
    arguments.request.since_unix_ns = static_cast<std::int64_t>(since) * 1'000'000'000;
  }
  JobOutput::Style style{arguments.json, std::nullopt};
  if (!arguments.grep.empty()) {
    Result<LinePattern> pattern = LinePattern::compile(arguments.grep);
    if (!pattern.is_ok()) {
      return report_usage("job logs", Status(pattern.status().code(), "--grep " + pattern.status().message()));
    }
    style.grep = std::move(*pattern);
  }
  OpenCluster cluster;
  if (const int code = open_cluster("job logs", arguments.choice, &cluster); code != kExitOk) return code;
  watch_for_interrupts();
  return watch_job("job logs", cluster, arguments.request, std::move(style));
}

using Verb = int (*)(const JobArguments& arguments);

CLI::App* add_verb(CLI::App& job, const char* name, const char* description, bool required, Verb verb,
                   Command::Run* run) {
  CLI::App* command = job.add_subcommand(name, description);
  auto arguments = std::make_shared<JobArguments>();
  CLI::Option* ids = command->add_option("ID", arguments->ids, "Ids of jobs, or their beginnings");
  if (required) ids->required();
  command->add_flag("--json", arguments->json, "One JSON document");
  add_cluster_options(*command, arguments->choice);
  if (verb == run_job_list) {
    command->add_option("--status", arguments->state, "Only those: pending, running, succeeded, failed or stopped")
        ->check(CLI::IsMember({"pending", "running", "succeeded", "failed", "stopped"}));
  }
  if (verb == run_job_wait) {
    command->add_option("--timeout", arguments->timeout,
                        "Wait no longer than this, such as 30s or 10m; then exit with 4");
  }
  command->callback([arguments, verb, run] { *run = [arguments, verb] { return verb(*arguments); }; });
  return command;
}

void add_logs(CLI::App& job, Command::Run* run) {
  CLI::App* command = job.add_subcommand("logs", "What a job has printed, byte for byte");
  auto arguments = std::make_shared<JobLogArguments>();
  cluster::LogRequest& request = arguments->request;
  command->add_option("ID", request.id, "The job's id, or its beginning")->required();
  command->add_flag(
      "-f,--follow", request.follow,
      "Go on with what it prints, to its end, and end as it ends; with --attempt to the end of that attempt");
  command->add_option("--tail", request.tail_lines, "Only the last lines of each stream")
      ->check(CLI::Range(std::uint64_t{1} << 40));
  command->add_option("--since", arguments->since, "Only what is at most so old, such as 10m");
  command->add_option("--grep", arguments->grep, "Only lines that this regular expression matches");
  command->add_option("--attempt", request.attempt, "Of this attempt alone; by default the newest")
      ->check(CLI::Range(std::uint32_t{1}, UINT32_MAX));
  command->add_flag("--json", arguments->json, "One JSON document a line of output");
  add_cluster_options(*command, arguments->choice);
  command->callback([arguments, run] { *run = [arguments] { return run_job_logs(*arguments); }; });
}

Command::Run add_job(CLI::App& job) {
  job.require_subcommand(1);
  auto run = std::make_shared<Command::Run>();
  CLI::App* submit = job.add_subcommand("submit", "Start a job, print what it prints, and end as it ends");
  Command::Run run_submit = add_submit(*submit, false);
  submit->callback([run, run_submit] { *run = run_submit; });
  Command::Run* chosen = run.get();
  add_verb(job, "list", "All jobs, or those named, and why they wait", false, run_job_list, chosen);
  add_verb(job, "status", "Everything about a job", true, run_job_status, chosen);
  add_verb(job, "stop", "Ask jobs to end: SIGINT, then SIGTERM, then SIGKILL", true, run_job_stop, chosen);
  add_verb(job, "wait", "Wait for the end of jobs, and end as the first one ended that did not succeed", true,
           run_job_wait, chosen);
  add_verb(job, "delete", "Forget jobs that have ended, and remove their folders", true, run_job_delete, chosen);
  add_logs(job, chosen);
  return [run] { return (*run)(); };
}

const Command kJob("job", "Jobs: whole programs that a node, or another cluster, runs", add_job);

}  // namespace

}  // namespace fray::cli
