// fray: the command line, and the node itself (`fray node`, started by clients).
//
// Threading:  one thread; a node starts more.
// Ownership:  main() builds the commands and owns what they parse into.
// Failure:    exit codes as in cli/exit_codes.h.
#include <csignal>
#include <exception>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/completion_command.h"
#include "cli/config_command.h"
#include "cli/debug_command.h"
#include "cli/doctor_command.h"
#include "cli/env_command.h"
#include "cli/exit_codes.h"
#include "cli/job_commands.h"
#include "cli/migrate_command.h"
#include "cli/node_http.h"
#include "cli/ps_command.h"
#include "cli/ray_job_command.h"
#include "cli/run_command.h"
#include "cli/stack_command.h"
#include "cli/start_command.h"
#include "cli/status_command.h"
#include "cli/stop_command.h"
#include "node/run_node.h"

namespace {

using namespace fray;

void add_node(CLI::App& app, node::NodeArguments& arguments, std::optional<std::uint16_t>& http_port) {
  CLI::App* command = app.add_subcommand("node", "Run a node (started by clients)");
  command->group("");  // internal
  command->add_flag("--embedded", arguments.embedded, "End with the last client");
  command->add_option("--client-fd", arguments.client_fd, "The first client's socket");
  command->add_option("--ready-fd", arguments.ready_fd, "Where to say that clients are accepted");
  command->add_option("--log-fd", arguments.log_fd, "Where messages go");
  command->add_option("--options-json", arguments.options_json, "Session options");
  command->add_option("--http-port", http_port, "Port of the HTTP API, 0 for any; none without it");
}

void add_start(CLI::App& app, cli::StartArguments& arguments) {
  CLI::App* command = app.add_subcommand("start", "Start the node of this home, which lives until `fray stop`");
  command->add_option("--cpus", arguments.cpus, "CPUs for tasks; by default what the container and the affinity give");
  command->add_option("--memory", arguments.memory, "Memory for tasks, such as 8GiB");
  command->add_option("--store-memory", arguments.store_memory, "Memory for objects before they spill, such as 2GiB");
  command->add_option("--spill-dir", arguments.spill_dir, "Folder that objects spill to");
  command->add_option("--resources", arguments.resources, R"(Further resources: {"TPU": 4} or TPU:4,head_node:1)");
  command->add_option("--max-workers", arguments.max_workers, "Most worker processes at once");
  command->add_option("--http-port", arguments.http_port, "Port of the HTTP API on 127.0.0.1; any if not given");
  command->add_flag("--foreground", arguments.foreground, "Run the node in this process, until Ctrl-C");
  command->add_flag("--json", arguments.json, "One JSON document");
}

void add_stop(CLI::App& app, cli::StopArguments& arguments) {
  CLI::App* command = app.add_subcommand("stop", "End the started node of this home and everything below it");
  command->add_flag("--force", arguments.force, "Kill at once, also a node that does not listen");
}

void add_status(CLI::App& app, cli::StatusArguments& arguments) {
  CLI::App* command = app.add_subcommand("status", "What runs on a node, what waits, and why");
  cli::add_node_option(*command, arguments.socket, true);
  command->add_flag("--json", arguments.json, "One JSON document");
}

int run(int argc, char** argv) {
  if (cli::is_ray_job(argc, argv)) return cli::run_ray_job(argc, argv);
  CLI::App app("Fray runs functions, actors and jobs on this machine's cores.", "fray");
  app.footer(cli::kExitCodesText);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", FRAY_VERSION, "This program's release");
  node::NodeArguments node_arguments;
  node_arguments.release = FRAY_VERSION;
  cli::StartArguments start_arguments;
  cli::StopArguments stop_arguments;
  cli::StatusArguments status_arguments;
  std::optional<std::uint16_t> http_port;
  add_node(app, node_arguments, http_port);
  add_start(app, start_arguments);
  add_stop(app, stop_arguments);
  add_status(app, status_arguments);
  cli::DoctorArguments doctor_arguments;
  cli::add_doctor(app, doctor_arguments);
  cli::StackArguments stack_arguments;
  cli::add_stack(app, stack_arguments);
  cli::DebugArguments debug_arguments;
  cli::add_debug(app, debug_arguments);
  cli::EnvArguments env_arguments;
  cli::add_env(app, env_arguments);
  cli::ConfigArguments config_arguments;
  cli::add_config(app, config_arguments);
  cli::RunArguments run_arguments;
  cli::add_run(app, run_arguments);
  cli::MigrateArguments migrate_arguments;
  cli::add_migrate(app, migrate_arguments);
  cli::RayArguments ray_arguments;
  cli::add_ray(app, ray_arguments);
  cli::JobCommands job_commands;
  job_commands.add(app);
  cli::PsArguments ps_arguments;
  cli::add_ps(app, ps_arguments);
  std::string shell;
  cli::add_completion(app, shell);
  app.add_subcommand("version", "This program's release");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kExitOk : cli::kExitUsage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return cli::kExitUsage;
  }
  if (http_port) node_arguments.attach = cli::with_http(*http_port);
  if (app.got_subcommand("node")) return node::run_node(node_arguments);
  if (app.got_subcommand("start")) return cli::run_start(start_arguments);
  if (app.got_subcommand("stop")) return cli::run_stop(stop_arguments);
  if (app.got_subcommand("doctor")) return cli::run_doctor(doctor_arguments);
  if (app.got_subcommand("stack")) return cli::run_stack(stack_arguments);
  if (app.got_subcommand("debug")) return cli::run_debug(debug_arguments);
  if (app.got_subcommand("env")) return cli::run_env(env_arguments);
  if (app.got_subcommand("config")) return cli::run_config(config_arguments);
  if (app.got_subcommand("run")) return cli::run_run(run_arguments);
  if (app.got_subcommand("migrate")) return cli::run_migrate(migrate_arguments);
  if (app.got_subcommand("ray")) return cli::run_ray(ray_arguments);
  if (app.got_subcommand("status")) return cli::run_status(status_arguments);
  if (auto code = job_commands.run(app)) return *code;
  if (app.got_subcommand("ps")) return cli::run_ps(ps_arguments);
  if (app.got_subcommand("completion")) return cli::run_completion(app, shell);
  fmt::print("{}\n", FRAY_VERSION);
  return cli::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGCHLD, SIG_DFL);  // who started this may ignore it, and children of those who do cannot be waited for
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fray::log_line("fray: {}\n", error.what());
    return fray::cli::kExitFailed;
  }
}
