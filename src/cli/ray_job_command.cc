#include "cli/ray_job_command.h"

#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/exit_codes.h"
#include "cli/ray_job.h"

namespace fray::cli {

namespace {

constexpr std::string_view kOption = "--cluster";

// What --cluster says, before the words of the job's own command.
std::string cluster_in(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word == kOption && i + 1 < argc) return argv[i + 1];
    if (word.starts_with("--cluster=")) return std::string(word.substr(kOption.size() + 1));
  }
  return "";
}

struct Words {
  std::string cluster;
  std::string id;
  bool json = false;
  bool follow = false;
  std::optional<std::size_t> tail;
  std::optional<double> timeout;
  RaySubmission submission;
};

CLI::App* add_verb(CLI::App& job, const char* name, const char* description, Words& words, bool takes_id) {
  CLI::App* verb = job.add_subcommand(name, description);
  verb->add_option("--cluster", words.cluster, "ray?address=http://HOST:PORT; FRAY_CLUSTER_SPEC if not given");
  if (takes_id) verb->add_option("ID", words.id, "Submission id")->required();
  return verb;
}

void add_json(CLI::App* verb, Words& words) { verb->add_flag("--json", words.json, "One JSON document"); }

void add_submit(CLI::App& job, Words& words) {
  CLI::App* verb = add_verb(job, "submit", "Submit a command as a job", words, false);
  RaySubmission& submission = words.submission;
  verb->add_option("--submission-id,--id", submission.submission_id, "Must be new; one is drawn if not given");
  verb->add_option("--working-dir", submission.working_dir, "Folder or archive that is sent along, or a URI");
  verb->add_option("--runtime-env", submission.runtime_env, R"(JSON, such as {"pip": ["rich"]})");
  verb->add_option("--env", submission.env_vars, "NAME=VALUE, or NAME for the value that it has here")
      ->take_all()
      ->allow_extra_args(false);
  verb->add_option("--metadata", submission.metadata, "KEY VALUE")->allow_extra_args(false);
  verb->add_option("--cpus", submission.cpus, "CPUs of the command itself; 0 if not given");
  verb->add_option("--gpus", submission.gpus, "GPUs of the command itself");
  verb->add_option("--memory", submission.memory, "Memory of the command itself, such as 2GiB");
  verb->add_option("--resources", submission.resources, R"(Further resources: {"TPU": 4} or TPU:4,head_node:1)");
  verb->add_flag("-f,--follow", submission.follow, "Show the output and end with the job's exit code");
  verb->add_flag("--json", submission.json, "One JSON document");
  verb->add_option("COMMAND", submission.command, "After --: the program and its arguments")->required();
}

int run(const CLI::App& job, Words& words) {
  if (job.got_subcommand("submit")) return ray_job_submit(words.cluster, words.submission);
  if (job.got_subcommand("list")) return ray_job_list(words.cluster, words.json);
  if (job.got_subcommand("status")) return ray_job_status(words.cluster, words.id, words.json);
  if (job.got_subcommand("logs")) return ray_job_logs(words.cluster, words.id, words.follow, words.tail);
  if (job.got_subcommand("stop")) return ray_job_stop(words.cluster, words.id, words.json);
  if (job.got_subcommand("wait")) return ray_job_wait(words.cluster, words.id, words.timeout, words.json);
  return ray_job_delete(words.cluster, words.id, words.json);
}

}  // namespace

bool is_ray_job(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "job" && is_ray_cluster(cluster_in(argc, argv));
}

int run_ray_job(int argc, char** argv) {
  CLI::App job(
      "Jobs of a Ray cluster, over its REST API; no Ray is needed here. The token is taken from RAY_AUTH_TOKEN, "
      "RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token.",
      "fray job");
  job.footer(kExitCodesText);
  job.require_subcommand(1);
  Words words;
  add_submit(job, words);
  add_json(add_verb(job, "list", "All jobs that the cluster remembers", words, false), words);
  add_json(add_verb(job, "status", "What the cluster knows of a job", words, true), words);
  CLI::App* logs = add_verb(job, "logs", "A job's output", words, true);
  logs->add_flag("-f,--follow", words.follow, "As it comes, to the job's end; exits with the job's exit code");
  logs->add_option("--tail", words.tail, "The last lines alone");
  add_json(add_verb(job, "stop", "Ask a job to end", words, true), words);
  CLI::App* wait = add_verb(job, "wait", "Wait for a job's end; exits with its exit code", words, true);
  wait->add_option("--timeout", words.timeout, "Seconds, then exit code 4");
  add_json(wait, words);
  add_json(add_verb(job, "delete", "Forget a job that has ended", words, true), words);
  try {
    job.parse(argc - 1, argv + 1);
  } catch (const CLI::ParseError& error) {
    return job.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return run(job, words);
}

}  // namespace fray::cli
