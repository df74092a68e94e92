#include "iris/jobs.h"

#include <algorithm>
#include <ctime>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "http_client/backoff.h"
#include "iris/controller.h"
#include "iris/job_secret.h"
#include "iris/messages.h"
#include "iris/names.h"

namespace fray::iris {

namespace {

constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::milliseconds kLongestRetry{5'000};
constexpr int kJobsAPage = 500;
constexpr int kLinesAPage = 1000;
constexpr std::size_t kMarkDigits = 20;  // controllers hide random texts of 24 characters and more
constexpr std::chrono::milliseconds kFirstLook{100};
constexpr std::chrono::milliseconds kLongestLook{2'000};

std::string quoted(std::string_view verb, const std::string& id) { return fmt::format("{} the job {}", verb, id); }

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

// A controller that is asked to wait for the tasks of a killed job never answers.
bool is_stuck(const Status& refused) {
  return refused.message().find("to drain before replacement") != std::string::npos;
}

Status never_let_go(const std::string& id) {
  return Status(
      StatusCode::kAlreadyExists,
      fmt::format("the job {} was stopped earlier and Iris does not let its name go; choose another name", id));
}

}  // namespace

Jobs::Jobs(Endpoint endpoint, std::string user, std::chrono::milliseconds patience)
    : controller_(std::make_shared<Controller>(std::move(endpoint), patience)), user_(std::move(user)) {}

const Endpoint& Jobs::endpoint() const { return controller_->endpoint(); }

// ---- Who asks

Result<std::string> Jobs::user() const {
  FRAY_ASSIGN_OR_RETURN(std::string known, controller_->user());
  return known.empty() ? user_ : std::move(known);
}

Result<std::string> Jobs::resolve(const std::string& job) const {
  if (job.starts_with('/')) return resolve_id("", job);
  FRAY_ASSIGN_OR_RETURN(const std::string own, user());
  return resolve_id(own, job);
}

Result<std::optional<OwnTask>> Jobs::own_task() const {
  std::optional<OwnTask> task = OwnTask::find();
  if (!task) return task;
  auto address = parse_address(task->controller);
  if (address.is_ok() && address->text() == endpoint().address.text()) return task;
  FRAY_ASSIGN_OR_RETURN(const auto known, states({task->job}));
  if (!known.contains(task->job)) task.reset();
  return task;
}

// ---- Launching

// The id of the job if it exists and was launched with this mark. kAlreadyExists when a job with another mark has that
// id.
Result<std::optional<std::string>> Jobs::find_launched(const std::string& id, const std::string& mark,
                                                       Existing existing) const {
  auto found = controller_->ask<wire::GetJobStatusResponse>(kGetJobStatus, quoted("look for", id),
                                                            wire::GetJobStatusRequest{id});
  if (found.status().code() == StatusCode::kNotFound) return std::optional<std::string>();
  if (!found.is_ok()) return found.status();
  const JobDetails job = details_of(*found);
  if (job.mark == mark) return std::optional(job.id);
  if (existing != Existing::kRefuse) return std::optional<std::string>();
  return Status(StatusCode::kAlreadyExists, fmt::format("{} has a job {} already, {}; choose another name",
                                                        endpoint().address.text(), id, to_string(job.state)));
}

// Before each further try either the answer has said that nothing was launched, or the controller is asked for the job.
Status Jobs::launch(const JobRequest& request, const std::string& id, Bundle bundle, std::string* launched) const {
  const std::string mark = new_mark().substr(0, kMarkDigits);
  wire::LaunchJobRequest message = launch_question(request, id, mark, today());
  message.bundle_blob = std::move(bundle.bytes);
  const std::string question = encode(message);
  http_client::Backoff backoff(endpoint(), {kFirstRetry, kLongestRetry, controller_->patience()});
  Status lost;  // why the earlier tries failed
  while (true) {
    bool is_final = false;
    const auto answer =
        controller_->try_once<wire::LaunchJobResponse>(kLaunchJob, quoted("launch", id), question, &is_final);
    const Status now = answer.status();
    if (answer.is_ok()) {
      *launched = answer.value().job_id;
      return now;
    }
    if (is_stuck(now)) return never_let_go(id);
    const bool may_be_ours = now.code() == StatusCode::kAlreadyExists && !lost.is_ok();
    if (is_final && !may_be_ours) return now;
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::string> found, find_launched(id, mark, request.existing));
    if (found) {
      *launched = *found;
      return Status::ok();
    }
    lost = now;
    if (!backoff.rest()) break;
  }
  return Status(backoff.was_interrupted() ? StatusCode::kCancelled : lost.code(),
                fmt::format("{}; whether the job {} will be taken is not known: look for it before launching it again",
                            lost.message(), id));
}

Result<std::string> Jobs::submit(JobRequest request) const {
  FRAY_RETURN_IF_ERROR(check(request));
  FRAY_RETURN_IF_ERROR(job_id(user_, request.parent, request.name).status());
  if (request.parent.empty()) {
    FRAY_ASSIGN_OR_RETURN(const std::optional<OwnTask> task, own_task());
    if (task) task->adopt(&request);
  }
  FRAY_RETURN_IF_ERROR(complete(&request));
  give_secret(&request);
  FRAY_ASSIGN_OR_RETURN(const std::string own, user());
  FRAY_ASSIGN_OR_RETURN(const std::string id, job_id(own, request.parent, request.name));
  Bundle bundle;
  if (!request.workspace.empty()) {
    FRAY_ASSIGN_OR_RETURN(bundle, make_bundle(request.workspace));
    FRAY_ASSIGN_OR_RETURN(const bool is_there,
                          controller_->has("say which bundles it has", "/bundles/" + bundle.id + ".zip"));
    if (is_there) {
      request.bundle_id = bundle.id;
      bundle.bytes.clear();
    }
  }
  std::string launched;
  FRAY_RETURN_IF_ERROR(launch(request, id, std::move(bundle), &launched));
  return launched;
}

// ---- Looking

Result<JobDetails> Jobs::get(const std::string& name) const {
  FRAY_ASSIGN_OR_RETURN(const std::string id, resolve(name));
  const std::string what = quoted("show", id);
  FRAY_ASSIGN_OR_RETURN(const auto answer, controller_->ask<wire::GetJobStatusResponse>(kGetJobStatus, what,
                                                                                        wire::GetJobStatusRequest{id}));
  JobDetails job = details_of(answer);
  FRAY_ASSIGN_OR_RETURN(const auto listed,
                        controller_->ask<wire::ListTasksResponse>(kListTasks, what, wire::ListTasksRequest{id}));
  for (const wire::TaskStatus& task : listed.tasks) job.tasks.push_back(details_of(task));
  std::sort(job.tasks.begin(), job.tasks.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return job;
}

Result<std::vector<JobDetails>> Jobs::list(const JobFilter& filter) const {
  std::vector<JobDetails> jobs;
  while (true) {
    wire::ListJobsRequest question;
    wire::JobQuery& query = question.query.emplace();
    query.scope = filter.parent.empty() ? wire::JOB_QUERY_SCOPE_ALL : wire::JOB_QUERY_SCOPE_CHILDREN;
    query.parent_job_id = filter.parent;
    query.job_id_prefix = filter.prefix;
    query.state_filter = filter.state;
    query.sort_field = wire::JOB_SORT_FIELD_DATE;
    query.sort_direction = wire::SORT_DIRECTION_DESC;
    query.offset = static_cast<std::int32_t>(jobs.size());
    query.limit = kJobsAPage;
    auto page = controller_->ask<wire::ListJobsResponse>(kListJobs, "list its jobs", question);
    // Controllers refuse offsets of more than some thousands.
    if (page.status().code() == StatusCode::kInvalidArgument && !jobs.empty()) return jobs;
    if (!page.is_ok()) return page.status();
    for (const wire::JobStatus& job : page->jobs) jobs.push_back(details_of(job));
    if (!page->has_more || page->jobs.empty()) return jobs;
  }
}

Result<TaskDetails> Jobs::task(const std::string& name, int index) const {
  FRAY_ASSIGN_OR_RETURN(const std::string id, resolve(name));
  const wire::GetTaskStatusRequest question{fmt::format("{}/{}", id, index)};
  const std::string what = "show the task " + question.task_id;
  FRAY_ASSIGN_OR_RETURN(const auto answer,
                        controller_->ask<wire::GetTaskStatusResponse>(kGetTaskStatus, what, question));
  return details_of(answer.task.value_or(wire::TaskStatus{}));
}

Result<std::map<std::string, JobState>> Jobs::states(const std::vector<std::string>& ids,
                                                     std::chrono::milliseconds limit) const {
  const wire::GetJobStateRequest question{ids};
  FRAY_ASSIGN_OR_RETURN(const auto answer,
                        controller_->ask<wire::GetJobStateResponse>(kGetJobState, "say how jobs are", question, limit));
  std::map<std::string, JobState> states;
  for (const auto& [id, state] : answer.states) states[id] = job_state(state);
  return states;
}

Status Jobs::not_there(const std::string& id) const {
  return Status(StatusCode::kNotFound,
                fmt::format("{} has no job {}; the list of jobs shows the ids", endpoint().address.text(), id));
}

Result<bool> Jobs::wait(const std::vector<std::string>& names, std::optional<std::chrono::milliseconds> timeout) const {
  std::vector<std::string> going;
  for (const std::string& name : names) {
    FRAY_ASSIGN_OR_RETURN(std::string id, resolve(name));
    going.push_back(std::move(id));
  }
  const std::chrono::milliseconds limit = timeout.value_or(std::chrono::hours(24 * 365));
  const auto end = std::chrono::steady_clock::now() + limit;
  http_client::Backoff backoff(endpoint(), {kFirstLook, kLongestLook, limit});
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    auto known = states(going, std::max(left, kFirstLook));
    if (!known.is_ok() && timeout && backoff.is_over()) return false;
    if (!known.is_ok()) return known.status();
    for (const std::string& id : going) {
      if (!known->contains(id)) return not_there(id);
    }
    std::erase_if(going, [&](const std::string& id) { return is_over(known->at(id)); });
    if (going.empty()) return true;
  } while (backoff.rest());
  if (!backoff.was_interrupted()) return false;
  return Status(StatusCode::kCancelled, fmt::format("interrupted while the job {} goes on", going.front()));
}

Result<bool> Jobs::stop(const std::string& name) const {
  FRAY_ASSIGN_OR_RETURN(const std::string id, resolve(name));
  FRAY_ASSIGN_OR_RETURN(const auto known, states({id}));
  const auto found = known.find(id);
  if (found == known.end()) return not_there(id);
  if (is_over(found->second)) return false;
  const wire::TerminateJobRequest question{id};
  FRAY_RETURN_IF_ERROR(controller_->ask<wire::Empty>(kTerminateJob, quoted("stop", id), question).status());
  return true;
}

// ---- Output

Result<std::vector<LogLine>> Jobs::read_log(const std::string& id, std::int64_t* cursor) const {
  wire::FetchLogsRequest question;
  question.source = id + "/";
  question.match_scope = wire::MATCH_SCOPE_PREFIX;
  question.cursor = *cursor;
  question.max_lines = kLinesAPage;
  const std::string what = quoted("send the output of", id);
  auto answer = controller_->ask<wire::FetchLogsResponse>(kFetchLogs, what, question);
  if (answer.status().code() == StatusCode::kVersionMismatch) {
    answer = controller_->ask<wire::FetchLogsResponse>(kFetchLogsBefore, what, question);
  }
  if (!answer.is_ok()) return answer.status();
  std::vector<LogLine> lines;
  for (const wire::LogEntry& entry : answer->entries) {
    const auto name = parse_attempt(entry.key);
    if (!name) continue;
    const std::int64_t time_ms = entry.timestamp ? entry.timestamp->epoch_ms : 0;
    lines.push_back({std::string(name->job), name->task, name->attempt, entry.source, time_ms, entry.data});
  }
  *cursor = std::max<std::int64_t>(*cursor, answer->cursor);
  // Workers send what attempts write each by itself, so that the last lines of one may come behind the first of the next.
  std::ranges::stable_sort(lines, {}, &LogLine::time_ms);
  return lines;
}

Result<std::vector<LogLine>> Jobs::logs(const std::string& name) const {
  FRAY_ASSIGN_OR_RETURN(const std::string id, resolve(name));
  FRAY_ASSIGN_OR_RETURN(const auto known, states({id}));
  if (!known.contains(id)) return not_there(id);
  std::vector<LogLine> lines;
  std::int64_t cursor = 0;
  for (std::int64_t before = -1; cursor != before;) {
    before = cursor;
    FRAY_ASSIGN_OR_RETURN(std::vector<LogLine> more, read_log(id, &cursor));
    std::copy_if(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()), std::back_inserter(lines),
                 [&](const LogLine& line) { return line.job == id; });
  }
  return lines;
}

}  // namespace fray::iris
