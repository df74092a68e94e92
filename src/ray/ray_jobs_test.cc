#include "ray/ray_jobs.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "http_client/scripted_server.h"

namespace fray::ray {
namespace {

using http_client::ScriptedServer;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Visit = ScriptedServer::Visit;

JobSpec plain_spec() {
  JobSpec spec;
  spec.command = {"python", "a b.py"};
  return spec;
}

// A cluster with three jobs, of which those that ran are stopped when they are asked to.
class ThreeJobs {
 public:
  RayJobs jobs() { return RayJobs(server_.endpoint()); }
  bool has(const std::string& id) const { return states_.contains(id); }
  std::string state(const std::string& id) const { return states_.at(id); }

 private:
  static std::string document(const std::string& id, const std::string& state) {
    return json({{"type", "SUBMISSION"}, {"submission_id", id}, {"status", state}, {"entrypoint", "true"}}).dump();
  }
  void serve(Visit& visit) {
    if (visit.line == "GET /api/jobs/") {
      std::string all;
      for (const auto& [id, state] : states_) all += (all.empty() ? "" : ",") + document(id, state);
      return visit.answer(200, "[" + all + "]");
    }
    const std::string verb = visit.line.substr(0, visit.line.find(' '));
    std::string id = visit.line.substr(visit.line.find("/api/jobs/") + 10);
    const std::string rest = id.find('/') == std::string::npos ? "" : id.substr(id.find('/'));
    id = id.substr(0, id.find('/'));
    if (!states_.contains(id)) return visit.answer(404, "Job " + id + " does not exist");
    if (rest == "/stop") {
      states_[id] = "STOPPED";
      return visit.answer(200, R"({"stopped":true})");
    }
    if (rest == "/logs") return visit.answer(200, R"({"logs":"one\ntwo\nthree\n"})");
    if (verb == "DELETE") {
      states_.erase(id);
      return visit.answer(200, R"({"deleted":true})");
    }
    visit.answer(200, document(id, states_[id]));
  }

  std::map<std::string, std::string> states_ = {{"train-1", "RUNNING"}, {"train-2", "SUCCEEDED"}, {"other", "FAILED"}};
  ScriptedServer server_{[this](Visit& visit) { serve(visit); }};
};

TEST(RayOrderTest, the_command_that_is_shown_is_the_one_that_was_asked_for) {
  JobSpec spec;
  spec.command = {"python", "a b.py"};
  JobDetails details;
  details.entrypoint = request_of(spec)->entrypoint;
  EXPECT_EQ(info_of(details).spec.command, std::vector<std::string>{"python 'a b.py'"});
}

TEST(RayOrderTest, an_order_becomes_what_ray_takes) {
  JobSpec spec = plain_spec();
  spec.id = "mine";
  spec.name = "train";
  spec.folder = "gcs://package.zip";
  spec.runtime_env = R"({"package_requirements": ["rich"], "env_vars": {"A": "0"}})";
  spec.environment = {{"A", "1"}};
  spec.metadata = {{"owner", "me"}};
  ASSERT_TRUE(spec.resources.set("CPU", 0.5).is_ok());
  ASSERT_TRUE(spec.resources.set("TPU", 4).is_ok());
  auto request = request_of(spec);
  ASSERT_TRUE(request.is_ok()) << request.status().message();
  EXPECT_EQ(request->entrypoint, "exec python 'a b.py'");
  EXPECT_EQ(request->submission_id, "mine");
  EXPECT_EQ(request->metadata, (std::map<std::string, std::string>{{"name", "train"}, {"owner", "me"}}));
  EXPECT_EQ(request->runtime_env,
            json({{"pip", {"rich"}}, {"working_dir", "gcs://package.zip"}, {"env_vars", {{"A", "1"}}}}));
  EXPECT_EQ(request->cpus, 0.5);
  EXPECT_EQ(request->resources.at("TPU"), 4);
  EXPECT_FALSE(request->gpus || request->memory_bytes);
}

TEST(RayOrderTest, what_ray_cannot_do_is_refused_by_its_name) {
  JobSpec replicas = plain_spec(), priority = plain_spec(), deadline = plain_spec(), twice = plain_spec();
  replicas.replicas = 2;
  priority.priority = -1;
  deadline.deadline_seconds = 60;
  twice.runtime_env = R"({"pip": ["a"], "package_requirements": ["b"]})";
  for (const auto& [spec, words] : {std::pair{replicas, "replicas"},
                                    {priority, "priority"},
                                    {deadline, "deadline_seconds"},
                                    {twice, "package_requirements or pip"}}) {
    auto request = request_of(spec);
    EXPECT_EQ(request.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(request.status().message(), HasSubstr(words));
  }
}

TEST(RayJobInfoTest, a_job_is_told_as_every_cluster_tells_it) {
  JobDetails details;
  details.submission_id = "raysubmit_a";
  details.status = JobStatus::kFailed;
  details.entrypoint = "exit 3";
  details.message = "it failed";
  details.exit_code = 3;
  details.start_time_ms = 1'500;
  details.metadata = {{kSubmissionKey, "mark"}, {"name", "train"}, {"owner", "me"}};
  const JobInfo info = info_of(details);
  EXPECT_EQ(info.id(), "raysubmit_a");
  EXPECT_EQ(info.spec.name, "train");
  EXPECT_EQ(info.spec.metadata, (Texts{{"owner", "me"}}));
  EXPECT_THAT(info.spec.command, ElementsAre("exit 3"));
  EXPECT_EQ(info.state, JobState::kFailed);
  EXPECT_EQ(info.exit_code, 3);
  EXPECT_EQ(info.message, "it failed");
  EXPECT_EQ(info.started_unix_ns, 1'500'000'000);
  EXPECT_EQ(json::parse(info.further)["ray"]["status"], "FAILED");
  details.status = JobStatus::kPending;
  EXPECT_EQ(info_of(details).pending_reason, "it failed");
  EXPECT_EQ(info_of(details).started_unix_ns, 0);
}

TEST(RayJobsTest, the_beginning_of_one_id_will_do_and_of_several_will_not) {
  ThreeJobs cluster;
  RayJobs jobs = cluster.jobs();
  auto found = jobs.get({"oth", "train-1"}, {});
  ASSERT_TRUE(found.is_ok()) << found.status().message();
  EXPECT_EQ((*found)[0].id(), "other");
  EXPECT_EQ(jobs.get({"train"}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(jobs.get({"nobody"}, {}).status().code(), StatusCode::kNotFound);
}

TEST(RayJobsTest, nothing_is_done_to_jobs_when_one_of_them_is_not_there) {
  ThreeJobs cluster;
  RayJobs jobs = cluster.jobs();
  EXPECT_EQ(jobs.stop({"train-1", "nobody"}, {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(cluster.state("train-1"), "RUNNING");
  EXPECT_EQ(jobs.remove({"other", "nobody"}, {}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(cluster.has("other"));
  auto stopped = jobs.stop({"train-1", "other"}, {});
  ASSERT_TRUE(stopped.is_ok()) << stopped.status().message();
  EXPECT_EQ((*stopped)[0].state, JobState::kStopped);
  EXPECT_EQ((*stopped)[1].state, JobState::kFailed);
}

TEST(RayJobsTest, the_last_lines_of_a_log_are_read) {
  ThreeJobs cluster;
  RayJobs jobs = cluster.jobs();
  for (const auto& [lines, text] : {std::pair{2u, "two\nthree\n"}, {9u, "one\ntwo\nthree\n"}, {0u, ""}}) {
    auto log = jobs.open_log({.id = "other", .follow = true, .tail_lines = lines}, {});
    ASSERT_TRUE(log.is_ok()) << log.status().message();
    std::string read;
    while (true) {
      const LogBatch batch = (*log)->next({}).value();
      if (batch.pieces.empty()) break;
      for (const LogPiece& piece : batch.pieces) read += piece.bytes;
    }
    EXPECT_EQ(read, text);
  }
  EXPECT_EQ(jobs.open_log({.id = "other", .since_unix_ns = 1}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(jobs.open_log({.id = "other", .attempt = 2}, {}).status().code(), StatusCode::kNotFound);
}

TEST(RaySpecTest, a_spec_names_the_dashboard) {
  auto spec = cluster::Spec::parse("ray?address=https%3A%2F%2Fhead:8265&ca_file=/etc/ca.pem&verify=false&namespace=x");
  auto endpoint = endpoint_of(*spec, {});
  ASSERT_TRUE(endpoint.is_ok()) << endpoint.status().message();
  EXPECT_EQ(endpoint->address.text(), "https://head:8265");
  EXPECT_EQ(endpoint->ca_file, "/etc/ca.pem");
  EXPECT_FALSE(endpoint->verify);
}

TEST(RaySpecTest, what_is_no_spec_is_refused_with_what_to_write) {
  for (const char* text : {"ray", "ray?adress=http://head:8265", "ray?address=http://a:1&verify=no"}) {
    auto endpoint = endpoint_of(*cluster::Spec::parse(text), {});
    ASSERT_FALSE(endpoint.is_ok()) << text;
    EXPECT_THAT(endpoint.status().message(), HasSubstr("ray?address=http://HOST:PORT")) << text;
  }
}

}  // namespace
}  // namespace fray::ray
