#include "cli/job_commands.h"

#include "cli/job_verbs.h"

namespace fray::cli {

void JobCommands::add(CLI::App& app) {
  job_ = app.add_subcommand("job", "Jobs: whole programs that the node runs");
  job_->require_subcommand(1);
  add_submit(*job_->add_subcommand("submit", "Start a job, print what it prints, and end as it ends"), submit_);
  CLI::App* list = add_names(*job_, "list", "All jobs, or those named, and why they wait", false);
  list->add_option("--status", names_.state, "Only those: pending, running, succeeded, failed or stopped")
      ->check(CLI::IsMember({"pending", "running", "succeeded", "failed", "stopped"}));
  add_names(*job_, "status", "Everything about a job", true);
  add_names(*job_, "stop", "Ask jobs to end: SIGINT, then SIGTERM, then SIGKILL", true);
  add_names(*job_, "wait", "Wait for the end of jobs, and end as the first one ended that did not succeed", true)
      ->add_option("--timeout", names_.timeout, "Wait no longer than this, such as 30s or 10m; then exit with 4");
  add_names(*job_, "delete", "Forget jobs that have ended, and remove their folders", true);
  add_logs(*job_);
  CLI::App* submit =
      app.add_subcommand("submit", "Start a job on the node of this home, which is started if it does not run");
  add_submit(*submit, submit_);
  submit->callback([this] { submit_.start_node = true; });
}

void JobCommands::add_submit(CLI::App& command, JobSubmitArguments& arguments) {
  command.footer("fray job submit [OPTIONS] -- COMMAND [ARGUMENT...]\nCtrl-C detaches: the job goes on.");
  command.add_option("COMMAND", arguments.command, "The program and its arguments, behind --; no shell reads them")
      ->required();
  command.add_option("--name", arguments.name, "For people; by default from the command");
  command.add_option("--id", arguments.id,
                     "The job's id, so that a second submission is refused; by default a new one");
  command.add_option("--replicas", arguments.replicas, "Equal processes that start and end together");
  command.add_option("--cpus", arguments.cpus, "CPUs of each replica; 1 by default");
  command.add_option("--gpus", arguments.gpus, "GPUs of each replica");
  command.add_option("--memory", arguments.memory, "Memory of each replica, such as 8GiB; more than that ends the job");
  command.add_option("--max-processes", arguments.max_processes, "Processes and threads of the job, at most");
  command.add_option("--max-files", arguments.max_files, "Open files of each process, at most");
  command.add_option("--resources", arguments.resources, R"(Further resources: {"TPU": 4} or TPU:4)");
  command.add_option("--env", arguments.variables, "NAME=VALUE, or NAME for this shell's own value; again for more");
  command.add_option("--folder", arguments.folder, "Where it runs; by default here");
  command.add_option("--max-failures", arguments.max_failures, "Attempts after the first that failed by itself");
  command.add_option("--max-preemptions", arguments.max_preemptions, "Attempts after one that was lost; counted apart");
  command.add_option("--priority", arguments.priority, "Higher ones start first");
  command.add_option("--deadline", arguments.deadline, "Most time from its first start on, such as 2h");
  command.add_option("--grace", arguments.grace, "Time between a stop and SIGKILL; 5s by default");
  command.add_flag("--shell", arguments.shell, "COMMAND is one line for /bin/sh");
  command.add_flag("--no-wait", arguments.no_wait, "Print the job's id and return");
  command.add_flag("--json", arguments.json, "One JSON document: with --no-wait the job, else how it ended");
  add_node_option(command, arguments.socket, false);
}

CLI::App* JobCommands::add_names(CLI::App& job, const char* name, const char* what, bool required) {
  CLI::App* command = job.add_subcommand(name, what);
  CLI::Option* ids = command->add_option("ID", names_.ids, "Ids of jobs, or their beginnings");
  if (required) ids->required();
  command->add_flag("--json", names_.json, "One JSON document");
  add_node_option(*command, names_.socket, false);
  return command;
}

void JobCommands::add_logs(CLI::App& job) {
  CLI::App* command = job.add_subcommand("logs", "What a job has printed, byte for byte");
  command->add_option("ID", log_.id, "The job's id, or its beginning")->required();
  command->add_flag("-f,--follow", log_.follow, "Go on with what it prints, to its end, and end as it ends");
  command->add_option("--tail", log_.tail, "Only the last lines of each stream");
  command->add_option("--since", log_.since, "Only what is at most so old, such as 10m");
  command->add_option("--grep", log_.grep, "Only lines that this regular expression matches");
  command->add_option("--attempt", log_.attempt, "Of this attempt; by default the newest");
  command->add_flag("--json", log_.json, "One JSON document a line of output");
  add_node_option(*command, log_.socket, false);
}

std::optional<int> JobCommands::run(const CLI::App& app) const {
  if (app.got_subcommand("submit")) return run_job_submit(submit_);
  if (!app.got_subcommand(job_)) return std::nullopt;
  if (job_->got_subcommand("submit")) return run_job_submit(submit_);
  if (job_->got_subcommand("list")) return run_job_list(names_);
  if (job_->got_subcommand("status")) return run_job_status(names_);
  if (job_->got_subcommand("stop")) return run_job_stop(names_);
  if (job_->got_subcommand("wait")) return run_job_wait(names_);
  if (job_->got_subcommand("delete")) return run_job_delete(names_);
  return run_job_logs(log_);
}

}  // namespace fray::cli
