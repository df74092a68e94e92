#include "cli/job_verbs.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/job_output.h"
#include "cli/job_text.h"
#include "cli/node_session.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

void print_json(const json& document) { fmt::print("{}\n", json_text(document, 2)); }

int usage(const char* command, const Status& status) {
  fmt::print(stderr, "fray {}: {}\n", command, status.message());
  return kExitUsage;
}

json list_document(json jobs) { return {{"schema", "fray/v1"}, {"jobs", std::move(jobs)}}; }

}  // namespace

int detached(const std::string& id) {
  fmt::print(stderr,
             "\nthe job goes on. Next:\n"
             "  fray job logs -f {0}   follows it again\n"
             "  fray job stop {0}      ends it\n",
             id);
  return kExitInterrupted;
}

int run_job_list(const JobNameArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job list", session.status());
  auto text = (*session)->jobs().get(arguments.ids);
  if (!text.is_ok()) return report_failure("job list", text.status());
  json jobs = json::array();
  for (const json& job : parse_json(*text)) {
    if (arguments.state.empty() || job.value("status", "") == arguments.state) jobs.push_back(job);
  }
  arguments.json ? print_json(list_document(std::move(jobs))) : fmt::print("{}", job_table(jobs));
  return kExitOk;
}

int run_job_status(const JobNameArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job status", session.status());
  auto text = (*session)->jobs().get(arguments.ids);
  if (!text.is_ok()) return report_failure("job status", text.status());
  const json jobs = parse_json(*text);
  if (arguments.json) {
    print_json(jobs.size() == 1 ? jobs[0] : list_document(jobs));
  } else {
    for (const json& job : jobs) fmt::print("{}", job_page(job));
  }
  return kExitOk;
}

int run_job_stop(const JobNameArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job stop", session.status());
  auto text = (*session)->jobs().stop(arguments.ids);
  if (!text.is_ok()) return report_failure("job stop", text.status());
  const json jobs = parse_json(*text);
  if (arguments.json) {
    print_json(list_document(jobs));
  } else {
    for (const json& job : jobs) {
      fmt::print("{}\n",
                 has_ended(job) ? job_end_line(job) : fmt::format("job {} is asked to end", job.value("id", "")));
    }
  }
  return kExitOk;
}

int run_job_delete(const JobNameArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job delete", session.status());
  auto text = (*session)->jobs().remove(arguments.ids);
  if (!text.is_ok()) return report_failure("job delete", text.status());
  if (arguments.json) {
    print_json(list_document(parse_json(*text)));
  } else {
    for (const json& job : parse_json(*text)) fmt::print("deleted job {}\n", job.value("id", ""));
  }
  return kExitOk;
}

int run_job_wait(const JobNameArguments& arguments) {
  door::Patience patience{{}, was_interrupted};
  if (!arguments.timeout.empty()) {
    auto seconds = parse_span("--timeout", arguments.timeout);
    if (!seconds.is_ok()) return usage("job wait", seconds.status());
    patience.deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  }
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job wait", session.status());
  watch_for_interrupts();
  auto text = (*session)->jobs().wait(arguments.ids, patience);
  if (!text.is_ok() && text.status().code() == StatusCode::kCancelled) return detached(arguments.ids[0]);
  if (!text.is_ok()) return report_failure("job wait", text.status());
  const json jobs = parse_json(*text);
  int code = kExitOk;
  for (const json& job : jobs) {
    if (!arguments.json) fmt::print("{}\n", job_end_line(job));
    if (code == kExitOk) code = exit_code_of_job(job);
  }
  if (arguments.json) print_json(list_document(jobs));
  return code;
}

int run_job_logs(const JobLogArguments& arguments) {
  wire::OpenJobLog request;
  request.id = arguments.id;
  request.attempt = arguments.attempt;
  if (arguments.tail) request.tail_lines = *arguments.tail;
  if (!arguments.since.empty()) {
    auto seconds = parse_span("--since", arguments.since);
    if (!seconds.is_ok()) return usage("job logs", seconds.status());
    request.since_unix_ns =
        (static_cast<std::int64_t>(std::time(nullptr)) - static_cast<std::int64_t>(*seconds)) * 1'000'000'000;
  }
  JobOutput::Style style{arguments.json, std::nullopt};
  try {
    if (!arguments.grep.empty()) style.grep = std::regex(arguments.grep);
  } catch (const std::regex_error& error) {
    return usage("job logs", Status(StatusCode::kInvalidArgument, fmt::format("--grep {} is no regular expression: {}",
                                                                              arguments.grep, error.what())));
  }
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("job logs", session.status());
  watch_for_interrupts();
  Status printed =
      JobOutput((*session)->jobs(), std::move(style)).print(request, arguments.follow, {{}, was_interrupted});
  if (printed.code() == StatusCode::kCancelled) return detached(arguments.id);
  if (!printed.is_ok()) return report_failure("job logs", printed);
  if (!arguments.follow) return kExitOk;
  auto text = (*session)->jobs().get({arguments.id});
  if (!text.is_ok()) return report_failure("job logs", text.status());
  const json job = parse_json(*text)[0];
  fmt::print(stderr, "{}\n", job_end_line(job));
  return exit_code_of_job(job);
}

}  // namespace fray::cli
