#include "ray/jobs.h"

#include <fmt/format.h>

#include "http_client/backoff.h"
#include "ray/refusal.h"

namespace fray::ray {

using http_client::path_segment;

namespace {

constexpr std::pair<int, int> kOldest = {2, 9};
constexpr std::chrono::milliseconds kFirstAsk{200};
constexpr std::chrono::milliseconds kLongestAsk{3'000};

bool is_cut(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kTimedOut;
}

std::string job_path(const std::string& id) { return "/api/jobs/" + path_segment(id); }

Status check_id(const std::string& id) {
  if (!id.empty()) return Status::ok();
  return Status(StatusCode::kInvalidArgument, "the id of a job must not be empty; the list of jobs shows the ids");
}

std::string named(std::string_view verb, const std::string& id) { return fmt::format("{} the job {}", verb, id); }

}  // namespace

std::string Jobs::log_path(const std::string& id) { return job_path(id) + "/logs/tail"; }

Result<http_client::Answer> Jobs::ask(std::string_view what, const Request& request) const {
  FRAY_RETURN_IF_ERROR(check_token(endpoint_.token));
  bool arrived = false;
  FRAY_ASSIGN_OR_RETURN(Answer answer, exchange(endpoint_, request, &arrived));
  if (answer.status != 200) return refusal(endpoint_, what, answer.status, answer.body);
  return answer;
}

// Sends a request that changes nothing, or that may arrive twice: it is sent once more when the connection breaks.
Result<http_client::Answer> Jobs::ask_again(std::string_view what, const Request& request) const {
  FRAY_RETURN_IF_ERROR(check_token(endpoint_.token));
  bool arrived = false;
  Result<Answer> answer = exchange(endpoint_, request, &arrived);
  if (!answer.is_ok() && answer.status().code() == StatusCode::kUnavailable && arrived &&
      http_client::pause(endpoint_, kFirstAsk)) {
    answer = exchange(endpoint_, request, &arrived);
  }
  if (!answer.is_ok()) return answer.status();
  if (answer->status != 200) return refusal(endpoint_, what, answer->status, answer->body);
  return answer;
}

Result<std::string> Jobs::check_version() const {
  Result<Answer> answer = ask_again("say its version", {"GET", "/api/version", {}});
  if (!answer.is_ok() && answer.status().code() == StatusCode::kNotFound) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("what answers at {} is no dashboard of Ray: it has no /api/version; is it the port that "
                              "`ray start` prints (8265 by default)?",
                              endpoint_.address.text()));
  }
  if (!answer.is_ok()) return answer.status();
  FRAY_ASSIGN_OR_RETURN(std::string release, parse_text(answer->body, "ray_version"));
  FRAY_ASSIGN_OR_RETURN(auto numbers, parse_release(release));
  if (numbers < kOldest) {
    return Status(StatusCode::kVersionMismatch,
                  fmt::format("Ray {} runs at {}; Fray's job client speaks to Ray {}.{} and later; update the cluster",
                              release, endpoint_.address.text(), kOldest.first, kOldest.second));
  }
  return release;
}

Result<std::string> Jobs::upload(const PackageRequest& wanted) const {
  FRAY_ASSIGN_OR_RETURN(Package package, make_package(wanted));
  const std::string path = "/api/packages/gcs/" + path_segment(package.name);
  const std::string what = fmt::format("take the package of {} ({} bytes)", wanted.path, package.bytes);
  // The question also keeps the cluster from dropping the package for the next ten minutes.
  Result<Answer> there = ask_again(what, {"GET", path, {}});
  if (there.is_ok()) return package.uri();
  if (there.status().code() != StatusCode::kNotFound) return there.status();
  FRAY_RETURN_IF_ERROR(ask_again(what, {"PUT", path, {}, package.file.get(), package.bytes}).status());
  return package.uri();
}

Status Jobs::send_along(nlohmann::json& env) const {
  PackageRequest package;
  if (auto excludes = env.find("excludes"); excludes != env.end()) {
    if (!excludes->is_array()) return Status(StatusCode::kInvalidArgument, "excludes must be a list of patterns");
    for (const auto& line : *excludes) {
      if (line.is_string()) package.excludes.push_back(line.get<std::string>());
    }
  }
  auto send = [&](nlohmann::json& place, bool with_parent) {
    if (!place.is_string())
      return Status(StatusCode::kInvalidArgument, "working_dir and py_modules name folders, archives or URIs");
    package.path = place.get<std::string>();
    if (!is_local_path(package.path)) return Status::ok();
    package.with_parent = with_parent;
    FRAY_ASSIGN_OR_RETURN(place, upload(package));
    return Status::ok();
  };
  if (env.contains("working_dir")) FRAY_RETURN_IF_ERROR(send(env["working_dir"], false));
  if (auto modules = env.find("py_modules"); modules != env.end()) {
    if (!modules->is_array()) return Status(StatusCode::kInvalidArgument, "py_modules must be a list");
    for (auto& module : *modules) FRAY_RETURN_IF_ERROR(send(module, true));
  }
  for (const char* installer : {"pip", "uv"}) {
    if (!env.contains(installer) || !env[installer].is_string()) continue;
    FRAY_ASSIGN_OR_RETURN(env[installer], read_requirements(env[installer].get<std::string>()));
  }
  return Status::ok();
}

// Whether the job exists and has this submission's mark. kAlreadyExists when it exists with another one.
Result<bool> Jobs::has_arrived(const JobRequest& request, const std::string& mark) const {
  Result<JobDetails> job = get(request.submission_id);
  if (!job.is_ok() && job.status().code() == StatusCode::kNotFound) return false;
  if (!job.is_ok()) return job.status();
  auto found = job->metadata.find(kSubmissionKey);
  if (found != job->metadata.end() && found->second == mark) return true;
  return Status(StatusCode::kAlreadyExists,
                fmt::format("{} has a job {} already, {}; choose another submission id, or none",
                            endpoint_.address.text(), request.submission_id, to_string(job->status)));
}

// Before each further try either the answer has said that nothing was submitted, or the cluster is asked for the job.
Status Jobs::post(const JobRequest& request) const {
  const std::string mark = new_submission_id();
  const std::string what = named("take", request.submission_id);
  const Request message{"POST", "/api/jobs/", submit_body(request, mark)};
  bool uncertain = false;
  Status last;
  // This is enough for a first request that is never answered, and for the questions and the second try that follow it.
  http_client::Backoff backoff(endpoint_, {kFirstAsk, kLongestAsk, 2 * endpoint_.answer_limit});
  for (bool first = true; first || backoff.rest(); first = false) {
    if (uncertain) {
      Result<bool> arrived = has_arrived(request, mark);
      if (arrived.is_ok() && *arrived) return Status::ok();
      if (!arrived.is_ok() && is_cut(arrived.status())) continue;
      if (!arrived.is_ok()) return arrived.status();
    }
    bool arrived = false;
    Result<Answer> answer = exchange(endpoint_, message, &arrived);
    if (answer.is_ok() && answer->status == 200) return Status::ok();
    if (answer.is_ok()) {
      last = refusal(endpoint_, what, answer->status, answer->body);
      if (last.code() == StatusCode::kAlreadyExists && uncertain) {
        Result<bool> ours = has_arrived(request, mark);
        return ours.is_ok() && *ours ? Status::ok() : last;
      }
      // A gateway may have passed the request on before it gave up.
      if (answer->status == 502 || answer->status == 504) uncertain = true;
      if (!uncertain && !is_worth_repeating(answer->status, answer->body)) return last;
      continue;
    }
    last = answer.status();
    if (!arrived || !is_cut(last)) return last;
    uncertain = true;
  }
  if (backoff.was_interrupted()) {
    return Status(StatusCode::kCancelled, "interrupted while submitting; " + last.message());
  }
  if (!uncertain) return last;
  return Status(last.code(),
                fmt::format("{}; whether job {} was taken is not known: look for it before submitting again",
                            last.message(), request.submission_id));
}

Result<std::string> Jobs::submit(JobRequest request) const {
  FRAY_RETURN_IF_ERROR(check(request));
  FRAY_RETURN_IF_ERROR(check_token(endpoint_.token));
  FRAY_RETURN_IF_ERROR(check_version().status());
  if (request.submission_id.empty()) request.submission_id = new_submission_id();
  FRAY_RETURN_IF_ERROR(send_along(request.runtime_env));
  FRAY_RETURN_IF_ERROR(post(request));
  return request.submission_id;
}

Result<JobDetails> Jobs::get(const std::string& id) const {
  FRAY_RETURN_IF_ERROR(check_id(id));
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_again(named("show", id), {"GET", job_path(id), {}}));
  return parse_job(answer.body);
}

Result<std::vector<JobDetails>> Jobs::list() const {
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_again("list its jobs", {"GET", "/api/jobs/", {}}));
  return parse_jobs(answer.body);
}

Result<bool> Jobs::stop(const std::string& id) const {
  FRAY_RETURN_IF_ERROR(check_id(id));
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_again(named("stop", id), {"POST", job_path(id) + "/stop", {}}));
  return parse_flag(answer.body, "stopped");
}

Result<bool> Jobs::remove(const std::string& id) const {
  FRAY_RETURN_IF_ERROR(check_id(id));
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask(named("delete", id), {"DELETE", job_path(id), {}}));
  return parse_flag(answer.body, "deleted");
}

Result<std::vector<NodeResources>> Jobs::nodes() const {
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_again("list its nodes", {"GET", "/api/v0/nodes?detail=true", {}}));
  return parse_nodes(answer.body);
}

Result<std::string> Jobs::logs(const std::string& id) const {
  FRAY_RETURN_IF_ERROR(check_id(id));
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_again(named("show the log of", id), {"GET", job_path(id) + "/logs", {}}));
  return parse_text(answer.body, "logs");
}

}  // namespace fray::ray
