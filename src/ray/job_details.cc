#include "ray/job_details.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/json_text.h"

namespace fray::ray {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kStatusNames = {"PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"};
constexpr std::size_t kShown = 120;
constexpr double kMostMilliseconds = 9e15;

// The beginning of an answer, for messages, without characters that cannot be printed.
std::string beginning(std::string_view body) {
  std::string shown;
  for (char c : body.substr(0, kShown)) shown += c >= ' ' && c < 0x7F ? c : ' ';
  return body.size() > kShown ? shown + "..." : shown;
}

Status not_ray(std::string_view body, std::string_view why) {
  return Status(StatusCode::kCorruption,
                fmt::format("the answer is not what Ray's dashboard sends ({}): \"{}\"; is the address that of the "
                            "dashboard?",
                            why, beginning(body)));
}

Result<json> parse(std::string_view body) {
  json document = parse_json(body);
  if (document.is_discarded()) return not_ray(body, "no JSON");
  return document;
}

std::string text(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t milliseconds_at(const json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) && value >= 0 && value <= kMostMilliseconds ? static_cast<std::int64_t>(value) : 0;
}

std::optional<JobStatus> status_named(std::string_view name) {
  for (std::size_t i = 0; i < kStatusNames.size(); ++i) {
    if (kStatusNames[i] == name) return static_cast<JobStatus>(i);
  }
  return std::nullopt;
}

Result<JobDetails> read_job(std::string_view body, const json& object) {
  if (!object.is_object()) return not_ray(body, "a job is no object");
  auto status = status_named(text(object, "status"));
  if (!status) return not_ray(body, "a job without a known status");
  JobDetails job;
  job.status = *status;
  job.type = text(object, "type");
  job.submission_id = text(object, "submission_id");
  job.job_id = text(object, "job_id");
  if (job.id().empty()) return not_ray(body, "a job without an id");
  job.entrypoint = text(object, "entrypoint");
  job.message = text(object, "message");
  job.error_type = text(object, "error_type");
  job.start_time_ms = milliseconds_at(object, "start_time");
  job.end_time_ms = milliseconds_at(object, "end_time");
  if (auto code = object.find("driver_exit_code"); code != object.end() && code->is_number_integer()) {
    const auto number = static_cast<int>(code->get<std::int64_t>());
    job.exit_code = number < 0 ? 128 - number : number;  // killed by a signal: 128 and its number, as in a shell
  }
  if (auto metadata = object.find("metadata"); metadata != object.end() && metadata->is_object()) {
    for (const auto& [key, value] : metadata->items()) {
      if (value.is_string()) job.metadata[key] = value.get<std::string>();
    }
  }
  if (auto env = object.find("runtime_env"); env != object.end() && env->is_object()) job.runtime_env = *env;
  return job;
}

json or_null(const std::string& value) { return value.empty() ? json(nullptr) : json(value); }
json or_null(std::int64_t value) { return value == 0 ? json(nullptr) : json(value); }

}  // namespace

std::string_view to_string(JobStatus status) { return kStatusNames[static_cast<std::size_t>(status)]; }

json JobDetails::to_json() const {
  json shown = json::object();
  for (const auto& [key, value] : metadata) {
    if (key != kSubmissionKey) shown[key] = value;
  }
  return {{"type", type},
          {"submission_id", or_null(submission_id)},
          {"job_id", or_null(job_id)},
          {"status", to_string(status)},
          {"entrypoint", entrypoint},
          {"message", or_null(message)},
          {"error_type", or_null(error_type)},
          {"start_time", or_null(start_time_ms)},
          {"end_time", or_null(end_time_ms)},
          {"driver_exit_code", exit_code ? json(*exit_code) : json(nullptr)},
          {"metadata", shown},
          {"runtime_env", runtime_env.is_object() ? runtime_env : json::object()}};
}

Result<JobDetails> parse_job(std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(json document, parse(body));
  return read_job(body, document);
}

Result<std::vector<JobDetails>> parse_jobs(std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(json document, parse(body));
  if (!document.is_array()) return not_ray(body, "no list of jobs");
  std::vector<JobDetails> jobs;
  for (const json& object : document) {
    FRAY_ASSIGN_OR_RETURN(JobDetails job, read_job(body, object));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::string> parse_text(std::string_view body, const char* key) {
  FRAY_ASSIGN_OR_RETURN(json document, parse(body));
  if (!document.is_object() || !document.contains(key) || !document[key].is_string()) {
    return not_ray(body, fmt::format("no text \"{}\"", key));
  }
  return document[key].get<std::string>();
}

Result<bool> parse_flag(std::string_view body, const char* key) {
  FRAY_ASSIGN_OR_RETURN(json document, parse(body));
  if (!document.is_object() || !document.contains(key) || !document[key].is_boolean()) {
    return not_ray(body, fmt::format("no truth value \"{}\"", key));
  }
  return document[key].get<bool>();
}

Result<std::vector<NodeResources>> parse_nodes(std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(json document, parse(body));
  const json* list = &document;
  for (const char* key : {"data", "result", "result"}) {
    if (!list->is_object() || !list->contains(key)) return not_ray(body, "no list of nodes");
    list = &(*list)[key];
  }
  if (!list->is_array()) return not_ray(body, "no list of nodes");
  std::vector<NodeResources> nodes;
  for (const json& node : *list) {
    if (!node.is_object() || text(node, "state") != "ALIVE") continue;
    NodeResources amounts;
    if (auto found = node.find("resources_total"); found != node.end() && found->is_object()) {
      for (const auto& [name, amount] : found->items()) {
        if (amount.is_number()) amounts[name] = amount.get<double>();
      }
    }
    nodes.push_back(std::move(amounts));
  }
  return nodes;
}

Result<std::pair<int, int>> parse_release(std::string_view release) {
  std::pair<int, int> numbers;
  const char* end = release.data() + release.size();
  auto major = std::from_chars(release.data(), end, numbers.first);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    auto minor = std::from_chars(major.ptr + 1, end, numbers.second);
    if (minor.ec == std::errc() && numbers.first >= 0 && numbers.second >= 0) return numbers;
  }
  return not_ray(release, "no number of a release");
}

}  // namespace fray::ray
