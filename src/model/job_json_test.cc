#include "model/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Result<JobSpec> read(json document) {
  Members members(std::move(document));
  JobSpec spec;
  FRAY_RETURN_IF_ERROR(take_job_spec(members, &spec));
  FRAY_RETURN_IF_ERROR(members.end());
  return spec;
}

TEST(JobJsonTest, every_field_of_the_schema_is_read) {
  json order = {{"command", {"true"}}};
  const json schema = job_spec_schema();
  for (const auto& [name, about] : schema["properties"].items()) {
    EXPECT_TRUE(about.contains("description")) << name;
    if (about["type"] == "string") order[name] = "text";
    if (about["type"] == "integer" || about["type"] == "number") order[name] = 7;
    if (about["type"] == "object") order[name] = json::object();
  }
  order["resources"] = {{"CPU", 0.5}};
  order["environment"] = {{"A", "1"}};
  order["metadata"] = {{"owner", "me"}};
  auto spec = read(order);
  ASSERT_TRUE(spec.is_ok()) << spec.status().message();
  EXPECT_EQ(spec->id, "text");
  EXPECT_EQ(spec->max_preemptions, 7u);
  EXPECT_EQ(spec->grace_seconds, 7.0);
  EXPECT_EQ(spec->resources.amount("CPU"), 0.5);
  EXPECT_EQ(spec->environment, (Texts{{"A", "1"}}));
  EXPECT_EQ(spec->metadata, (Texts{{"owner", "me"}}));
  EXPECT_EQ(spec->runtime_env, "{}");
}

TEST(JobJsonTest, what_is_left_out_or_null_is_as_a_spec_has_it_by_itself) {
  auto spec = read({{"command", {"true"}}, {"grace_seconds", nullptr}, {"metadata", nullptr}});
  JobSpec plain;
  plain.command = {"true"};
  EXPECT_EQ(*spec, plain);
}

TEST(JobJsonTest, what_cannot_be_is_refused_by_its_name_and_values_of_variables_are_not_shown) {
  for (const auto& [order, words] :
       {std::pair<json, const char*>{{{"command", "true"}}, "command must be a list of texts"},
        {{{"command", {1}}}, "command must be a text"},
        {{{"replicas", 0}}, "replicas is 0; it must be a whole number from 1 to 1024"},
        {{{"replicas", 1.5}}, "whole number"},
        {{{"replicas", true}}, "must be a number"},
        {{{"max_failures", -1}}, "max_failures is -1"},
        {{{"max_failures", 1e300}}, "from 0 to 4000000000"},
        {{{"deadline_seconds", "2h"}}, "must be a number"},
        {{{"resources", {{"CPU", -1}}}}, "CPU"},
        {{{"runtime_env", "pip"}}, "runtime_env must be an object"},
        {{{"environment", {{"SECRET", 4711}}}}, "SECRET"},
        {{{"call", "4711"}}, "there is no key \"call\""},
        {{{"cpus", 1}}, "the keys are id, name, command"}}) {
    auto spec = read(order);
    EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument) << order;
    EXPECT_THAT(spec.status().message(), HasSubstr(words)) << order;
    EXPECT_THAT(spec.status().message(), Not(HasSubstr("4711")));
  }
}

TEST(JobJsonTest, a_job_is_told_with_times_in_utc_and_null_for_what_there_is_not) {
  JobInfo job;
  job.spec.id = "a";
  job.spec.command = {"true"};
  job.spec.replicas = 2;
  job.spec.environment = {{"SECRET", "4711"}};
  job.submitted_unix_ns = 5'250'000'000;
  json told = job_json(job);
  EXPECT_EQ(told["status"], "pending");
  EXPECT_EQ(told["submitted_at"], "1970-01-01T00:00:05.250000Z");
  for (const char* key : {"ended_at", "exit_code", "message", "deadline_seconds", "parent", "supervisor_pid"}) {
    EXPECT_TRUE(told.at(key).is_null()) << key;
  }
  EXPECT_EQ(told["replicas"].size(), 2u);
  EXPECT_THAT(told.dump(), Not(HasSubstr("4711")));
  job.state = JobState::kFailed;
  job.exit_code = 137;
  job.replicas = {{.exit_code = 0}, {.signal = 9}};
  job.further = R"({"ray": {"type": "SUBMISSION"}})";
  told = job_json(job);
  EXPECT_EQ(told["replicas"][0]["status"], "succeeded");
  EXPECT_EQ(told["replicas"][1]["error"], "killed by signal 9");
  EXPECT_EQ(told["ray"]["type"], "SUBMISSION");
}

TEST(JobSpecTest, a_job_without_a_name_is_called_after_its_program) {
  EXPECT_EQ(job_name_of({"python", "-u", "jobs/train.py", "--steps", "1"}), "train");
  EXPECT_EQ(job_name_of({"/bin/sleep", "9"}), "sleep");
  EXPECT_EQ(job_name_of({"two words"}), "two-words");
  EXPECT_EQ(job_name_of({"/"}), "job");
  EXPECT_EQ(job_name_of({"x" + std::string(62, 'y') + "\xC3\xA4"}).size(), 63u) << "a character is not cut in two";
}

}  // namespace
}  // namespace fray
