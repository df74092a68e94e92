#include "iris/job_order.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "iris/messages.h"
#include "iris/names.h"
#include "model/json_text.h"

namespace fray::iris {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

JobSpec spec_for(std::vector<std::string> command = {"python", "train.py"}) {
  JobSpec spec;
  spec.command = std::move(command);
  return spec;
}

JobSpec spec_with(const std::string& resource, double amount) {
  JobSpec spec = spec_for();
  EXPECT_TRUE(spec.resources.set(resource, amount).is_ok());
  return spec;
}

TEST(IrisJobOrderTest, an_order_says_all_that_iris_is_asked_for) {
  JobSpec spec = spec_for();
  spec.name = "train";
  spec.folder = "/work";
  spec.environment = {{"A", "1"}};
  spec.metadata = {{"owner", "me"}};
  ASSERT_TRUE(spec.resources.set("CPU", 0.25).is_ok());
  ASSERT_TRUE(spec.resources.set("memory", 1 << 20).is_ok());
  ASSERT_TRUE(spec.resources.set("disk", 7).is_ok());
  spec.replicas = 3;
  spec.max_failures = 2;
  spec.max_preemptions = 5;
  spec.deadline_seconds = 1.5;
  spec.priority = -4;
  spec.runtime_env = R"({"package_requirements": ["rich"], "extras": ["tpu"], "python_version": "3.12",
                         "container_image": "image:1", "regions": ["here", "there"], "zone": "a", "preemptible": false})";
  auto request = request_of(spec);
  ASSERT_TRUE(request.is_ok()) << request.status().message();
  EXPECT_THAT(request->name, StartsWith("train-"));
  EXPECT_EQ(stem_of(request->name), "train");
  EXPECT_EQ(request->argv.back(), "train.py");
  EXPECT_EQ(request->workspace, "/work");
  EXPECT_EQ(request->env_vars.at("A"), "1");
  EXPECT_EQ(request->metadata.at("owner"), "me");
  EXPECT_EQ(request->cpu_millicores, 250);
  EXPECT_EQ(request->memory_bytes, 1 << 20);
  EXPECT_EQ(request->disk_bytes, 7);
  EXPECT_EQ(request->replicas, 3);
  EXPECT_EQ(request->max_retries_failure, 2);
  EXPECT_EQ(request->max_retries_preemption, 5);
  EXPECT_EQ(request->timeout.count(), 1500);
  EXPECT_EQ(request->band, Band::kBatch);
  EXPECT_THAT(request->pip_packages, ElementsAre("rich"));
  EXPECT_THAT(request->extras, ElementsAre("tpu"));
  EXPECT_EQ(request->python_version, "3.12");
  EXPECT_EQ(request->task_image, "image:1");
  ASSERT_EQ(request->constraints.size(), 3u);
  EXPECT_EQ(request->constraints[0].values, std::vector<std::string>{"false"});
  EXPECT_EQ(request->constraints[1].op, Constraint::Op::kIn);
  EXPECT_EQ(request->constraints[2].op, Constraint::Op::kEq);
}

TEST(IrisJobOrderTest, names_are_new_and_ids_are_taken_as_they_are) {
  EXPECT_NE(request_of(spec_for())->name, request_of(spec_for())->name);
  EXPECT_THAT(request_of(spec_for())->name, StartsWith("train-"));
  JobSpec named = spec_for();
  named.id = "mine";
  named.name = "for people";
  const JobRequest request = request_of(named).value();
  EXPECT_EQ(request.name, "mine");
  EXPECT_EQ(request.metadata.at("name"), "for people");
}

TEST(IrisJobOrderTest, a_device_is_named_by_its_kind) {
  const Device any = request_of(spec_with("GPU", 8))->device;
  EXPECT_EQ(any.kind, Device::Kind::kGpu);
  EXPECT_EQ(any.variant, "");
  EXPECT_EQ(any.count, 8);
  EXPECT_EQ(request_of(spec_with("H100", 1))->device.variant, "h100");
  const Device slice = request_of(spec_with("v5litepod-16", 4))->device;
  EXPECT_EQ(slice.kind, Device::Kind::kTpu);
  EXPECT_EQ(slice.count, 4);
}

TEST(IrisJobOrderTest, a_slice_of_several_machines_gets_a_replica_on_each) {
  JobRequest request = request_of(spec_with("v5litepod-16", 4)).value();
  ASSERT_TRUE(complete(&request).is_ok());
  EXPECT_EQ(request.replicas, 4);
  EXPECT_EQ(request.group_by, "tpu-name");
  EXPECT_EQ(request.cpu_millicores, 32'000);
  JobSpec two = spec_with("v4-8", 4);
  two.replicas = 2;
  JobRequest apart = request_of(two).value();
  ASSERT_TRUE(complete(&apart).is_ok());
  EXPECT_EQ(apart.replicas, 2);
  EXPECT_EQ(apart.group_by, "");
}

TEST(IrisJobOrderTest, what_runs_the_command_is_installed_where_packages_are) {
  JobRequest request = request_of(spec_for()).value();
  request.runner_packages = {"cloudpickle"};
  JobRequest plain = request;
  ASSERT_TRUE(complete(&plain).is_ok());
  EXPECT_TRUE(plain.setup.empty());
  request.extras = {"tpu"};
  ASSERT_TRUE(complete(&request).is_ok());
  EXPECT_EQ(request.setup.back(), "uv pip install --quiet cloudpickle");
}

TEST(IrisJobOrderTest, what_iris_has_not_is_refused_by_its_name) {
  struct Row {
    const char* words;
    std::function<void(JobSpec&)> change;
  };
  const auto resource = [](const char* name, double amount) {
    return [=](JobSpec& spec) { ASSERT_TRUE(spec.resources.set(name, amount).is_ok()); };
  };
  const auto env = [](const char* text) { return [=](JobSpec& spec) { spec.runtime_env = text; }; };
  for (const Row& row : {
           Row{"grace_seconds", [](JobSpec& spec) { spec.grace_seconds = 9; }},
           Row{"max_processes", [](JobSpec& spec) { spec.max_processes = 9; }},
           Row{"max_files", [](JobSpec& spec) { spec.max_files = 9; }},
           Row{"call", [](JobSpec& spec) { spec.call = "pickle"; }},
           Row{"slash", [](JobSpec& spec) { spec.name = "a/b"; }},
           Row{"slash", [](JobSpec& spec) { spec.id = "a/b"; }},
           Row{"needs a command", [](JobSpec& spec) { spec.command.clear(); }},
           Row{"must be a", [](JobSpec& spec) { spec.replicas = 0; }},
           Row{"max_failures", [](JobSpec& spec) { spec.max_failures = 3'000'000'000; }},
           Row{"which TPU", resource("TPU", 4)},
           Row{"whole numbers", resource("GPU", 0.5)},
           Row{"there is no TPU slice v5p-7", resource("v5p-7", 4)},
           Row{"write v5litepod-16:4", resource("v5litepod-16", 16)},
           Row{"thousandths", resource("CPU", 1e10)},
           Row{"one kind", [&](JobSpec& spec) { resource("GPU", 1)(spec), resource("h100", 1)(spec); }},
           Row{"fill no number of slices",
               [&](JobSpec& spec) { resource("v5litepod-16", 4)(spec), spec.replicas = 6; }},
           Row{"there is no key \"pip\"", env(R"({"pip": []})")},
           Row{"true or false", env(R"({"preemptible": "no"})")},
           Row{"a list of texts", env(R"({"regions": "here"})")},
           Row{"an object", env("[]")},
       }) {
    JobSpec spec = spec_for();
    row.change(spec);
    const auto request = request_of(spec);
    ASSERT_FALSE(request.is_ok()) << row.words;
    EXPECT_EQ(request.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(request.status().message(), HasSubstr(row.words));
  }
}

TEST(IrisJobOrderTest, what_is_told_of_a_job_is_what_was_asked_for) {
  JobSpec spec = spec_with("v5litepod-16", 4);
  spec.id = "mine";
  spec.name = "for people";
  spec.metadata = {{"owner", "me"}};
  spec.max_failures = 2;
  spec.max_preemptions = 5;
  spec.priority = 3;
  JobRequest request = request_of(spec).value();
  ASSERT_TRUE(complete(&request).is_ok());
  wire::GetJobStatusResponse answer;
  answer.job.emplace().job_id = "/bob/parent/mine";
  answer.job->state = wire::JOB_STATE_FAILED;
  answer.job->error = "Exit code: 3";
  answer.job->task_count = 2;
  answer.job->submitted_at = wire::Timestamp{1000};
  answer.job->started_at = wire::Timestamp{2000};
  answer.job->finished_at = wire::Timestamp{3000};
  answer.request = launch_question(request, "/bob/parent/mine", "mark", "2026-01-01");
  JobDetails details = details_of(answer);
  details.tasks = {details_of(wire::TaskStatus{.task_id = "/bob/parent/mine/0",
                                               .state = wire::TASK_STATE_FAILED,
                                               .exit_code = 3,
                                               .error = "Exit code: 3",
                                               .current_attempt_id = 2}),
                   details_of(wire::TaskStatus{.task_id = "/bob/parent/mine/1", .state = wire::TASK_STATE_KILLED})};
  const JobInfo info = info_of(details);
  EXPECT_EQ(info.id(), "/bob/parent/mine");
  EXPECT_EQ(info.spec.name, "for people");
  EXPECT_EQ(info.spec.metadata, (Texts{{"owner", "me"}}));
  EXPECT_EQ(info.spec.command, spec.command);
  EXPECT_EQ(info.spec.resources.amount("v5litepod-16"), 4);
  EXPECT_EQ(info.spec.max_failures, 2u);
  EXPECT_EQ(info.spec.max_preemptions, 5u);
  EXPECT_EQ(info.spec.priority, 1);
  EXPECT_EQ(info.state, fray::JobState::kFailed);
  EXPECT_EQ(info.phase, JobPhase::kEnded);
  EXPECT_EQ(info.message, "Exit code: 3");
  EXPECT_EQ(info.exit_code, 3);
  EXPECT_EQ(info.attempt, 3u);
  EXPECT_EQ(info.parent, "/bob/parent");
  ASSERT_EQ(info.replicas.size(), 2u);
  EXPECT_EQ(info.replicas[0].exit_code, 3);
  EXPECT_TRUE(info.replicas[1].asked);
  EXPECT_EQ(info.ended_unix_ns, 3'000'000'000);
  EXPECT_EQ(parse_json(info.further)["iris"]["state"], "FAILED");
}

TEST(IrisJobOrderTest, numbers_that_no_job_has_are_brought_into_range) {
  wire::GetJobStatusResponse answer;
  answer.job.emplace().state = wire::JOB_STATE_RUNNING;
  answer.job->task_count = -1;
  answer.job->failure_count = -1;
  answer.job->started_at = wire::Timestamp{std::numeric_limits<std::int64_t>::max()};
  answer.request.emplace().max_retries_failure = -1;
  JobDetails details = details_of(answer);
  details.tasks = {details_of(wire::TaskStatus{.current_attempt_id = -7})};
  const JobInfo info = info_of(details);
  EXPECT_EQ(info.spec.replicas, 0u);
  EXPECT_EQ(info.failures, 0u);
  EXPECT_EQ(info.spec.max_failures, 0u);
  EXPECT_EQ(info.attempt, 1u);
  EXPECT_GT(info.started_unix_ns, 0);
  details.replicas = std::numeric_limits<int>::max();
  EXPECT_LE(info_of(details).spec.replicas, 100'000u);
}

TEST(IrisJobOrderTest, a_preempted_task_has_failed_and_an_assigned_one_waits) {
  EXPECT_EQ(details_of(wire::TaskStatus{.state = wire::TASK_STATE_PREEMPTED}).status, fray::JobState::kFailed);
  EXPECT_EQ(details_of(wire::TaskStatus{.state = wire::TASK_STATE_ASSIGNED}).status, fray::JobState::kPending);
  EXPECT_EQ(status_of(JobState::kUnschedulable), fray::JobState::kFailed);
  EXPECT_EQ(status_of(JobState::kBuilding), fray::JobState::kPending);
}

}  // namespace
}  // namespace fray::iris
