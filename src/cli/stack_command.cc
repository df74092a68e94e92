// `fray stack`: prints the Python stacks of a node's workers and drivers. py-spy reads them where it can; elsewhere
// each process writes its own. With --seconds py-spy watches one process for so long, which makes a flame graph.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/flame_graph.h"
#include "cli/node_session.h"
#include "cli/options.h"
#include "cli/process_stacks.h"
#include "cli/program_output.h"
#include "cli/python_program.h"
#include "cli/stack_dump.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

struct StackArguments {
  NodeOption socket;
  int pid = 0;  // 0: all
  bool json = false;
  bool without_py_spy = false;
  int seconds = 0;  // 0: what they do now
};

using nlohmann::json;
constexpr std::chrono::seconds kStackPatience{5};
constexpr std::chrono::seconds kDumpPatience{2};
constexpr std::chrono::seconds kWatchPatience{10};  // beyond the seconds that it is watched for
constexpr int kMostSeconds = 60;
constexpr int kSamplesPerSecond = 100;
constexpr std::uint64_t kFewestSamples = 5;  // fewer are chance

std::vector<ProcessStacks> processes_of(const json& report) {
  std::vector<ProcessStacks> processes;
  for (const json& row : report.value("clients", json::array())) {
    ProcessStacks driver;
    driver.pid = row.value("pid", 0);
    driver.role = "driver";
    processes.push_back(std::move(driver));
  }
  for (const json& row : report.value("workers", json::array())) {
    ProcessStacks worker;
    worker.pid = row.value("pid", 0);
    worker.role = "worker";
    worker.state = row.value("state", "");
    worker.task = row.value("task", "");
    worker.running_seconds = row.value("running_seconds", 0.0);
    processes.push_back(std::move(worker));
  }
  return processes;
}

bool read_by_py_spy(const std::string& py_spy, ProcessStacks& process) {
  if (py_spy.empty()) return false;
  auto answer = program_output({py_spy, "dump", "--json", "--pid", std::to_string(process.pid)}, kStackPatience);
  if (!answer.is_ok()) return false;
  process.threads = parse_py_spy(*answer);
  process.source = "py-spy";
  return !process.threads.empty();
}

void read_stacks(const std::string& py_spy, ProcessStacks& process) {
  if (read_by_py_spy(py_spy, process)) return;
  auto text = dump_stacks(process.pid, kDumpPatience);
  if (!text.is_ok()) {
    process.problem = text.status().message();
    return;
  }
  process.threads = parse_faulthandler(*text);
  process.source = "faulthandler";
}

// A worker that is just starting or ending may have no stacks to show.
bool has_told_or_need_not(const ProcessStacks& process) {
  return process.problem.empty() || process.state == "starting" || process.state == "ending";
}

// What py-spy said when it failed, as a sentence that says what to do.
std::string watch_problem(const Status& why, int pid) {
  const std::string& said = why.message();
  const auto says = [&said](const char* words) { return said.find(words) != std::string::npos; };
  if (says("ermission") || says("not permitted") || says("os error 1)") || says("os error 13)")) {
    return fmt::format(
        "the kernel does not let py-spy look into process {} (ptrace is refused); allow it with `sysctl "
        "kernel.yama.ptrace_scope=0`, or in a container with the capability SYS_PTRACE, or be root",
        pid);
  }
  return fmt::format("py-spy cannot watch process {}: {}", pid, said.empty() ? "it says nothing" : said);
}

Result<FlameGraph> watch_process(const StackArguments& arguments) {
  const std::string py_spy = find_program("py-spy");
  if (py_spy.empty()) {
    return Status(StatusCode::kUnavailable,
                  "py-spy, which takes the samples, is not installed; `pip install 'fray[profile]'` adds it");
  }
  // Its backtraces would hide the line that says why. A process that it paused for each look would seem to work while it waits.
  const std::vector<std::string> command = {"/usr/bin/env", "RUST_BACKTRACE=0",
                                            py_spy,         "record",
                                            "--pid",        std::to_string(arguments.pid),
                                            "--duration",   std::to_string(arguments.seconds),
                                            "--rate",       std::to_string(kSamplesPerSecond),
                                            "--function",   "--nonblocking",
                                            "--format",     "raw",
                                            "--output",     "/dev/stdout"};
  auto samples = program_output(command, std::chrono::seconds(arguments.seconds) + kWatchPatience);
  if (!samples.is_ok()) return Status(StatusCode::kUnavailable, watch_problem(samples.status(), arguments.pid));
  return parse_samples(*samples);
}

int run_watch(const StackArguments& arguments) {
  auto graph = watch_process(arguments);
  std::string problem = graph.is_ok() ? "" : graph.status().message();
  if (problem.empty() && graph->samples < kFewestSamples) {
    problem = fmt::format("process {} used next to no CPU for Python within {} s; `fray stack` shows what it waits for",
                          arguments.pid, arguments.seconds);
  }
  if (arguments.json) {
    json document = flame_json(problem.empty() ? *graph : FlameGraph());
    document["schema"] = "fray/v1";
    document["pid"] = arguments.pid;
    document["seconds"] = arguments.seconds;
    document["problem"] = problem.empty() ? json(nullptr) : json(problem);
    fmt::print("{}\n", json_text(document));
  } else if (problem.empty()) {
    fmt::print("{}", flame_text(*graph));
  }
  if (problem.empty()) return kExitOk;
  if (!arguments.json) log_line("fray stack: {}\n", problem);
  return kExitFailed;
}

int run_stack(const StackArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("stack", session.status());
  auto reply = (*session)->status();
  if (!reply.is_ok()) return report_failure("stack", reply.status());
  std::vector<ProcessStacks> processes = processes_of(parse_json(*reply));
  if (arguments.pid != 0) {
    std::erase_if(processes, [&](const ProcessStacks& one) { return one.pid != arguments.pid; });
    if (processes.empty()) {
      log_line("fray stack: process {} is no worker or driver of the node at {}\n", arguments.pid,
               (*session)->socket());
      return kExitNotFound;
    }
  }
  if (arguments.seconds != 0) return run_watch(arguments);
  std::string py_spy = arguments.without_py_spy ? "" : find_program("py-spy");
  for (ProcessStacks& process : processes) read_stacks(py_spy, process);
  if (arguments.json) {
    fmt::print("{}\n", json_text(stacks_json(processes), 2));
  } else {
    fmt::print("{}", stacks_text(processes));
  }
  bool all_told = std::all_of(processes.begin(), processes.end(), has_told_or_need_not);
  return all_told ? kExitOk : kExitFailed;
}

Command::Run add_stack(CLI::App& command) {
  auto arguments = std::make_shared<StackArguments>();
  add_node_option(command, arguments->socket, true);
  CLI::Option* pid = command.add_option("--pid", arguments->pid, "Only this process")->check(CLI::PositiveNumber);
  CLI::Option* seconds = command
                             .add_option("--seconds", arguments->seconds,
                                         "Where it spends its CPU time for so long, as a tree of calls; needs --pid")
                             ->needs(pid)
                             ->check(CLI::Range(1, kMostSeconds));
  command.add_flag("--json", arguments->json, "One JSON document");
  command.add_flag("--no-py-spy", arguments->without_py_spy, "Ask the processes themselves even where py-spy is")
      ->excludes(seconds);
  return [arguments] { return run_stack(*arguments); };
}

const Command kStack("stack", "The Python stacks of a node's workers and drivers", add_stack);

}  // namespace

}  // namespace fray::cli
