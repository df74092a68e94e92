#include "cli/job_verbs.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/job_output.h"
#include "cli/job_session.h"
#include "cli/job_text.h"
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

int run_job_list(const JobNameArguments& arguments) {
  auto session = JobSession::open("job list", arguments.socket);
  if (!session) return kExitUnreachable;
  auto text = session->jobs().get(arguments.ids);
  if (!text.is_ok()) return session->failed(text.status());
  json jobs = json::array();
  for (const json& job : parse_json(*text)) {
    if (arguments.state.empty() || job.value("status", "") == arguments.state) jobs.push_back(job);
  }
  arguments.json ? print_json(list_document(std::move(jobs))) : fmt::print("{}", job_table(jobs));
  return kExitOk;
}

int run_job_status(const JobNameArguments& arguments) {
  auto session = JobSession::open("job status", arguments.socket);
  if (!session) return kExitUnreachable;
  auto text = session->jobs().get(arguments.ids);
  if (!text.is_ok()) return session->failed(text.status());
  const json jobs = parse_json(*text);
  if (arguments.json) {
    print_json(jobs.size() == 1 ? jobs[0] : list_document(jobs));
  } else {
    for (const json& job : jobs) fmt::print("{}", job_page(job));
  }
  return kExitOk;
}

int run_job_stop(const JobNameArguments& arguments) {
  auto session = JobSession::open("job stop", arguments.socket);
  if (!session) return kExitUnreachable;
  auto text = session->jobs().stop(arguments.ids);
  if (!text.is_ok()) return session->failed(text.status());
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
  auto session = JobSession::open("job delete", arguments.socket);
  if (!session) return kExitUnreachable;
  auto text = session->jobs().remove(arguments.ids);
  if (!text.is_ok()) return session->failed(text.status());
  if (arguments.json) {
    print_json(list_document(parse_json(*text)));
  } else {
    for (const json& job : parse_json(*text)) fmt::print("deleted job {}\n", job.value("id", ""));
  }
  return kExitOk;
}

int run_job_wait(const JobNameArguments& arguments) {
  client::JobClient::Deadline deadline;
  if (!arguments.timeout.empty()) {
    auto seconds = parse_span("--timeout", arguments.timeout);
    if (!seconds.is_ok()) return usage("job wait", seconds.status());
    deadline = std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  }
  auto session = JobSession::open("job wait", arguments.socket);
  if (!session) return kExitUnreachable;
  JobSession::interrupted();
  auto text = session->jobs().wait(arguments.ids, deadline, JobSession::interrupted);
  if (!text.is_ok() && text.status().code() == StatusCode::kCancelled) return session->detached(arguments.ids[0]);
  if (!text.is_ok()) return session->failed(text.status());
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
  auto session = JobSession::open("job logs", arguments.socket);
  if (!session) return kExitUnreachable;
  JobSession::interrupted();
  Status printed =
      JobOutput(session->jobs(), std::move(style)).print(request, arguments.follow, JobSession::interrupted);
  if (printed.code() == StatusCode::kCancelled) return session->detached(arguments.id);
  if (!printed.is_ok()) return session->failed(printed);
  if (!arguments.follow) return kExitOk;
  auto text = session->jobs().get({arguments.id});
  if (!text.is_ok()) return session->failed(text.status());
  const json job = parse_json(*text)[0];
  fmt::print(stderr, "{}\n", job_end_line(job));
  return exit_code_of_job(job);
}

}  // namespace fray::cli
