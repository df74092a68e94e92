#include "ray/ray_jobs.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cluster/command_text.h"
#include "model/json_text.h"
#include "ray/log_follower.h"

namespace fray::ray {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kLogPatience{200};  // how long a read blocks before it looks for an interrupt

Status wrong_spec(const std::string& what) {
  return Status(StatusCode::kInvalidArgument,
                what + "; write ray?address=http://HOST:PORT, with &ca_file=PATH or &verify=false for https");
}

// Refuses every number that is set in the spec, because Ray's job submission has no fields for retries, replicas,
// limits, priorities and times.
Status check_numbers_unset(const JobSpec& spec) {
  std::vector<std::pair<const char*, double>> given;
  auto note = [&given](const JobField& field, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      given.emplace_back(field.name, static_cast<double>(value));
    }
  };
  const JobSpec plain;
  JobSpec::visit(plain, note);
  const auto usual = std::exchange(given, {});
  JobSpec::visit(spec, note);
  const auto other = std::mismatch(given.begin(), given.end(), usual.begin(), [](const auto& a, const auto& b) {
                       return a.second == b.second;
                     }).first;
  if (other == given.end()) return Status::ok();
  return Status(StatusCode::kInvalidArgument,
                fmt::format("jobs of a Ray cluster have no {}; leave it out", other->first));
}

// Replaces the keys of fray.RuntimeEnv by those keys of Ray's runtime_env that mean the same.
Status translate(json& env) {
  for (const auto& [own, rays] : {std::pair{"package_requirements", "pip"}, {"container_image", "image_uri"}}) {
    if (!env.contains(own)) continue;
    if (env.contains(rays)) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("a runtime env has {} or {}, which mean the same; give one of them", own, rays));
    }
    env[rays] = std::move(env[own]);
    env.erase(own);
  }
  if (env.contains("conda") && env["conda"].is_array()) env["conda"] = {{"dependencies", env["conda"]}};
  return Status::ok();
}

// The offset at which the last `count` lines of a text begin.
std::size_t begin_of_lines(const std::string& text, std::uint64_t count) {
  std::size_t begin = text.size();
  if (count == 0) return begin;
  if (begin > 0 && text.back() == '\n') --begin;
  for (; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && --count == 0) break;
  }
  return begin;
}

LogBatch batch_of(std::uint64_t offset, std::string text) {
  LogBatch batch;
  batch.attempt = 1;
  if (!text.empty()) batch.pieces.push_back({{0, 1, offset}, 0, std::move(text)});
  return batch;
}

// The output up to now, which was read when the log was opened, and what the job writes after it where that is
// followed.
class RayLog : public cluster::JobLog {
 public:
  RayLog(const ray::Jobs& jobs, const std::string& id, std::uint64_t offset, std::string text, bool follow)
      : text_(std::move(text)), offset_(offset) {
    if (follow) follower_.emplace(jobs, id, offset + text_.size());
  }

  Result<LogBatch> next(const Patience& patience) override {
    if (!text_.empty()) return batch_of(offset_, std::exchange(text_, {}));
    while (follower_) {
      std::string text;
      const std::uint64_t offset = follower_->offset();
      FRAY_ASSIGN_OR_RETURN(const LogFollower::Event event, follower_->next(&text, kLogPatience));
      if (event == LogFollower::Event::kEnd) break;
      if (!text.empty()) return batch_of(offset, std::move(text));
      if (patience.interrupted && patience.interrupted()) return Status(StatusCode::kCancelled, "interrupted");
      if (patience.deadline && std::chrono::steady_clock::now() >= *patience.deadline) {
        return Status(StatusCode::kTimedOut, "the time is up");
      }
    }
    return LogBatch();
  }

 private:
  std::string text_;
  const std::uint64_t offset_;
  std::optional<LogFollower> follower_;
};

}  // namespace

Result<Endpoint> endpoint_of(const cluster::Spec& spec, std::function<bool()> interrupted) {
  Endpoint endpoint;
  std::string address;
  for (const auto& [key, value] : spec.keys) {
    if (key == "address") {
      address = value;
    } else if (key == "ca_file") {
      endpoint.ca_file = value;
    } else if (key == "verify") {
      if (value != "true" && value != "false") return wrong_spec("verify must be true or false");
      endpoint.verify = value == "true";
    } else if (key != "namespace" && key != "autoscaling") {  // these two are for tasks and actors, not for jobs
      return wrong_spec(fmt::format("a Ray cluster has no key \"{}\"", key));
    }
  }
  if (address.empty()) return wrong_spec("the address of the cluster's dashboard is missing");
  FRAY_ASSIGN_OR_RETURN(endpoint.address, parse_address(address));
  FRAY_ASSIGN_OR_RETURN(endpoint.token, find_token());
  endpoint.interrupted = std::move(interrupted);
  return endpoint;
}

namespace {
// To stop a job, Ray kills the shell and those children that the shell has at that moment. A program that the shell is
// just starting would survive. So the program replaces the shell.
constexpr std::string_view kExec = "exec ";

std::string without_exec(const std::string& entrypoint) {
  return entrypoint.starts_with(kExec) ? entrypoint.substr(kExec.size()) : entrypoint;
}
}  // namespace

Result<JobRequest> request_of(const JobSpec& spec) {
  FRAY_RETURN_IF_ERROR(check_numbers_unset(spec));
  JobRequest request;
  FRAY_ASSIGN_OR_RETURN(const std::string line, cluster::command_text(spec.command));
  request.entrypoint = std::string(kExec) + line;
  request.submission_id = spec.id;
  request.metadata = spec.metadata;
  if (!spec.name.empty()) request.metadata["name"] = spec.name;
  if (!spec.runtime_env.empty()) request.runtime_env = parse_json(spec.runtime_env);
  if (!request.runtime_env.is_object()) return Status(StatusCode::kInvalidArgument, "a runtime env is a JSON object");
  FRAY_RETURN_IF_ERROR(translate(request.runtime_env));
  if (!spec.folder.empty()) request.runtime_env["working_dir"] = spec.folder;
  for (const auto& [name, value] : spec.environment) request.runtime_env["env_vars"][name] = value;
  for (const auto& [name, units] : spec.resources.units()) {
    const double amount = spec.resources.amount(name);
    if (name == "CPU") {
      request.cpus = amount;
    } else if (name == "GPU") {
      request.gpus = amount;
    } else if (name == "memory") {
      request.memory_bytes = static_cast<std::uint64_t>(amount);
    } else {
      request.resources[name] = amount;
    }
  }
  FRAY_RETURN_IF_ERROR(check(request));
  return request;
}

JobInfo info_of(const JobDetails& details) {
  JobInfo info;
  info.spec.id = details.id();
  info.spec.metadata = details.metadata;
  info.spec.metadata.erase(kSubmissionKey);
  if (auto name = info.spec.metadata.extract("name")) info.spec.name = name.mapped();
  if (!details.entrypoint.empty()) info.spec.command = {without_exec(details.entrypoint)};
  switch (details.status) {
    case JobStatus::kPending:
      info.pending_reason = details.message;
      break;
    case JobStatus::kRunning:
      info.state = JobState::kRunning;
      info.phase = JobPhase::kRunning;
      break;
    case JobStatus::kStopped:
      info.state = JobState::kStopped;
      info.message = details.message;
      break;
    case JobStatus::kSucceeded:
      info.state = JobState::kSucceeded;
      break;
    case JobStatus::kFailed:
      info.state = JobState::kFailed;
      info.message = details.message;
      break;
  }
  if (info.has_ended()) info.phase = JobPhase::kEnded;
  info.exit_code = details.exit_code.value_or(-1);
  info.attempt = details.status == JobStatus::kPending ? 0 : 1;
  info.submitted_unix_ns = details.start_time_ms * 1'000'000;
  info.started_unix_ns = info.attempt == 0 ? 0 : info.submitted_unix_ns;
  info.ended_unix_ns = details.end_time_ms * 1'000'000;
  info.further = json_text({{"ray", details.to_json()}});
  return info;
}

// The job whose id is `id`, or the only one whose id begins with it.
Result<JobDetails> RayJobs::find(const std::string& id) const {
  Result<JobDetails> whole = jobs_.get(id);
  if (whole.is_ok() || whole.status().code() != StatusCode::kNotFound) return whole;
  FRAY_ASSIGN_OR_RETURN(std::vector<JobDetails> all, jobs_.list());
  std::erase_if(all, [&id](const JobDetails& job) { return !job.id().starts_with(id); });
  if (all.empty()) return whole;
  if (all.size() == 1) return std::move(all.front());
  return Status(StatusCode::kInvalidArgument,
                fmt::format("{} jobs begin with {}; write more of the id", all.size(), id));
}

Result<JobInfo> RayJobs::submit(JobSpec spec, const Patience&) {
  FRAY_ASSIGN_OR_RETURN(JobRequest request, request_of(spec));
  FRAY_ASSIGN_OR_RETURN(spec.id, jobs_.submit(std::move(request)));
  // The job is submitted, even if the question for its state fails.
  Result<JobDetails> details = jobs_.get(spec.id);
  if (details.is_ok()) return info_of(*details);
  JobInfo info;
  info.spec = std::move(spec);
  return info;
}

Result<cluster::Infos> RayJobs::list(const Patience&) {
  FRAY_ASSIGN_OR_RETURN(std::vector<JobDetails> all, jobs_.list());
  std::stable_sort(all.begin(), all.end(),
                   [](const JobDetails& a, const JobDetails& b) { return a.start_time_ms < b.start_time_ms; });
  Infos infos;
  for (const JobDetails& job : all) infos.push_back(info_of(job));
  return infos;
}

Result<cluster::Infos> RayJobs::get(const Ids& ids, const Patience&) {
  Infos infos;
  for (const std::string& id : ids) {
    FRAY_ASSIGN_OR_RETURN(JobDetails job, find(id));
    infos.push_back(info_of(job));
  }
  return infos;
}

Result<cluster::Infos> RayJobs::wait(const Ids& ids, const Patience& patience) {
  return cluster::wait_by_asking(*this, ids, patience);
}

Result<cluster::Infos> RayJobs::stop(const Ids& ids, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(Infos infos, get(ids, patience));
  Ids whole;
  for (const JobInfo& job : infos) {
    whole.push_back(job.id());
    if (!job.has_ended()) FRAY_RETURN_IF_ERROR(jobs_.stop(job.id()).status());
  }
  return get(whole, patience);
}

Result<cluster::Infos> RayJobs::remove(const Ids& ids, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(Infos infos, get(ids, patience));
  for (const JobInfo& job : infos) FRAY_RETURN_IF_ERROR(jobs_.remove(job.id()).status());
  return infos;
}

Result<std::unique_ptr<cluster::JobLog>> RayJobs::open_log(const cluster::LogRequest& request, const Patience&) {
  if (request.since_unix_ns != 0) {
    return Status(StatusCode::kInvalidArgument, "a Ray cluster keeps no times of its logs; leave out since when");
  }
  if (request.attempt > 1) {
    return Status(StatusCode::kNotFound,
                  fmt::format("jobs of a Ray cluster have one attempt, none with the number {}", request.attempt));
  }
  FRAY_ASSIGN_OR_RETURN(JobDetails job, find(request.id));
  // When a job has ended, Ray closes its log only after some seconds.
  const bool follow = request.follow && !is_over(job.status);
  std::string text;
  std::uint64_t offset = 0;
  if (!follow || request.tail_lines) {
    FRAY_ASSIGN_OR_RETURN(text, jobs_.logs(job.id()));
    if (request.tail_lines) offset = begin_of_lines(text, *request.tail_lines);
    text.erase(0, offset);
  }
  return std::unique_ptr<cluster::JobLog>(std::make_unique<RayLog>(jobs_, job.id(), offset, std::move(text), follow));
}

}  // namespace fray::ray
