#include "cli/ray_job.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/amount.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/ray_cluster.h"
#include "model/json_text.h"
#include "ray/command_text.h"
#include "ray/jobs.h"
#include "ray/log_follower.h"

namespace fray::cli {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{2'000};

int failed(const char* verb, const Status& status) {
  fmt::print(stderr, "fray job {}: {}\n", verb, status.message());
  return exit_code_of(status.code());
}

json with_schema(json document) {
  document["schema"] = "fray/v1";
  return document;
}

// The job's own code is the command's; 1 where Ray knows of none.
int code_of(const ray::JobDetails& job) {
  if (job.status == ray::JobStatus::kSucceeded) return kExitOk;
  return job.exit_code && *job.exit_code > 0 && *job.exit_code < 256 ? *job.exit_code : kExitFailed;
}

void tell_end(const ray::JobDetails& job) {
  const bool worth = job.status != ray::JobStatus::kSucceeded && !job.message.empty();
  fmt::print(stderr, "job {} {}{}\n", job.id(), ray::to_string(job.status), worth ? ": " + job.message : "");
}

void tell_way_back(const std::string& cluster, const std::string& id, std::uint64_t offset) {
  const std::string option = cluster.empty() ? "" : fmt::format(" --cluster '{}'", cluster);
  fmt::print(stderr, "\ndetached after {} bytes; job {} goes on\n  fray job logs -f{} {}\n  fray job stop{} {}\n",
             offset, id, option, id, option, id);
}

int follow(const std::string& cluster, const ray::Jobs& jobs, const std::string& id) {
  ray::LogFollower log(jobs, id, 0);
  while (true) {
    std::string text;
    auto event = log.next(&text, std::chrono::milliseconds(200));
    if (was_interrupted()) {
      tell_way_back(cluster, id, log.offset());
      return kExitInterrupted;
    }
    if (!event.is_ok()) return failed("logs", event.status());
    if (*event == ray::LogFollower::Event::kText) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    if (*event == ray::LogFollower::Event::kEnd) break;
  }
  tell_end(*log.job());
  return code_of(*log.job());
}

Status add_variables(const std::vector<std::string>& variables, json& env) {
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (name.empty()) return Status(StatusCode::kInvalidArgument, "--env takes NAME=VALUE, or the NAME of a variable");
    if (equals != std::string::npos) {
      env["env_vars"][name] = variable.substr(equals + 1);
      continue;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--env {} takes the value from here, where no such variable is set", name));
    }
    env["env_vars"][name] = value;
  }
  return Status::ok();
}

Result<ray::JobRequest> request_of(const RaySubmission& submission) {
  ray::JobRequest request;
  FRAY_ASSIGN_OR_RETURN(request.entrypoint, ray::command_text(submission.command));
  request.submission_id = submission.submission_id;
  request.metadata = submission.metadata;
  request.cpus = submission.cpus;
  request.gpus = submission.gpus;
  if (!submission.runtime_env.empty()) {
    request.runtime_env = parse_json(submission.runtime_env);
    if (!request.runtime_env.is_object()) {
      return Status(StatusCode::kInvalidArgument, "--runtime-env takes a JSON object, such as {\"pip\": [\"rich\"]}");
    }
  }
  if (!submission.working_dir.empty()) request.runtime_env["working_dir"] = submission.working_dir;
  FRAY_RETURN_IF_ERROR(add_variables(submission.env_vars, request.runtime_env));
  if (!submission.memory.empty()) {
    FRAY_ASSIGN_OR_RETURN(request.memory_bytes, parse_size("--memory", submission.memory));
  }
  if (!submission.resources.empty()) {
    FRAY_ASSIGN_OR_RETURN(json resources, parse_resources("--resources", submission.resources));
    for (const auto& [name, amount] : resources.items()) request.resources[name] = amount.get<double>();
  }
  return request;
}

std::string last_lines(const std::string& text, std::size_t count) {
  if (count == 0) return "";
  std::size_t begin = text.size();
  if (begin > 0 && text.back() == '\n') --begin;
  for (; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && --count == 0) break;
  }
  return text.substr(begin);
}

std::string one_line(std::string text, std::size_t most) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text.size() > most ? text.substr(0, most - 3) + "..." : text;
}

}  // namespace

int ray_job_submit(const std::string& cluster, const RaySubmission& submission) {
  auto request = request_of(submission);
  if (!request.is_ok()) return failed("submit", request.status());
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("submit", jobs.status());
  watch_for_interrupts();
  auto id = jobs->submit(std::move(request).value());
  if (!id.is_ok()) return failed("submit", id.status());
  if (submission.json) {
    const json document = {{"submission_id", *id}, {"address", jobs->endpoint().address.text()}};
    fmt::print("{}\n", json_text(with_schema(document), 2));
  } else if (submission.follow) {
    fmt::print(stderr, "submitted {}\n", *id);
  } else {
    fmt::print("{}\n", *id);
  }
  std::fflush(stdout);
  return submission.follow ? follow(cluster, *jobs, *id) : kExitOk;
}

int ray_job_list(const std::string& cluster, bool as_json) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("list", jobs.status());
  auto list = jobs->list();
  if (!list.is_ok()) return failed("list", list.status());
  if (as_json) {
    json rows = json::array();
    for (const ray::JobDetails& job : *list) rows.push_back(job.to_json());
    fmt::print("{}\n", json_text(with_schema({{"jobs", rows}}), 2));
    return kExitOk;
  }
  for (const ray::JobDetails& job : *list) {
    fmt::print("{:<28} {:<10} {}\n", job.id(), ray::to_string(job.status), one_line(job.entrypoint, 60));
  }
  if (list->empty()) fmt::print(stderr, "no jobs at {}\n", jobs->endpoint().address.text());
  return kExitOk;
}

int ray_job_status(const std::string& cluster, const std::string& id, bool as_json) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("status", jobs.status());
  auto job = jobs->get(id);
  if (!job.is_ok()) return failed("status", job.status());
  if (as_json) {
    fmt::print("{}\n", json_text(with_schema(job->to_json()), 2));
    return kExitOk;
  }
  fmt::print("{}  {}\n  {}\n", job->id(), ray::to_string(job->status), one_line(job->entrypoint, 200));
  if (!job->message.empty()) fmt::print("  {}\n", job->message);
  return kExitOk;
}

int ray_job_logs(const std::string& cluster, const std::string& id, bool keep_on, std::optional<std::size_t> tail) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("logs", jobs.status());
  watch_for_interrupts();
  if (keep_on) return follow(cluster, *jobs, id);
  auto text = jobs->logs(id);
  if (!text.is_ok()) return failed("logs", text.status());
  const std::string shown = tail ? last_lines(*text, *tail) : *text;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  return kExitOk;
}

int ray_job_stop(const std::string& cluster, const std::string& id, bool as_json) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("stop", jobs.status());
  auto stopped = jobs->stop(id);
  if (!stopped.is_ok()) return failed("stop", stopped.status());
  if (as_json) {
    fmt::print("{}\n", json_text(with_schema({{"submission_id", id}, {"stopped", *stopped}}), 2));
  } else {
    fmt::print(stderr, "{}\n", *stopped ? "job " + id + " is asked to stop" : "job " + id + " had ended");
  }
  return kExitOk;
}

int ray_job_wait(const std::string& cluster, const std::string& id, std::optional<double> timeout, bool as_json) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("wait", jobs.status());
  watch_for_interrupts();
  const auto begin = Clock::now();
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto job = jobs->get(id);
    if (!job.is_ok()) return failed("wait", job.status());
    if (ray::is_over(job->status)) {
      if (as_json) fmt::print("{}\n", json_text(with_schema(job->to_json()), 2));
      if (!as_json) tell_end(*job);
      return code_of(*job);
    }
    if (was_interrupted()) {
      tell_way_back(cluster, id, 0);
      return kExitInterrupted;
    }
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (timeout && waited.count() >= *timeout) {
      return failed("wait",
                    Status(StatusCode::kTimedOut, fmt::format("job {} is still {} after {} s: {}", id,
                                                              ray::to_string(job->status), *timeout, job->message)));
    }
    std::this_thread::sleep_for(
        timeout ? std::min<std::chrono::duration<double>>(pause, std::chrono::duration<double>(*timeout) - waited)
                : pause);
  }
}

int ray_job_delete(const std::string& cluster, const std::string& id, bool as_json) {
  auto jobs = open_ray_cluster(cluster);
  if (!jobs.is_ok()) return failed("delete", jobs.status());
  auto deleted = jobs->remove(id);
  if (!deleted.is_ok()) return failed("delete", deleted.status());
  if (as_json) {
    fmt::print("{}\n", json_text(with_schema({{"submission_id", id}, {"deleted", *deleted}}), 2));
  } else {
    fmt::print(stderr, "job {} is forgotten\n", id);
  }
  return kExitOk;
}

}  // namespace fray::cli
