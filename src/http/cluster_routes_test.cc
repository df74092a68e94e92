#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/http_test_world.h"

namespace fray::http {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRay = "ray?address=http://10.0.0.5:8265";
constexpr const char* kName = "ray-10.0.0.5:8265";

// A line of shell that answers as `fray job …` does: by the verb.
std::string cluster_with(const std::string& jobs) {
  return "case $2 in "
         "list|stop|delete) echo '{\"schema\": \"fray/v1\", \"jobs\": [" +
         jobs +
         "]}';; "
         "status) if test \"${7}\" = a; then echo '" +
         jobs +
         "'; else echo \"fray job status: there is no job ${7}\" >&2; exit 3; fi;; "
         "logs) for i in 1 2 3; do echo "
         "'{\"attempt\":1,\"replica\":0,\"stream\":\"stdout\",\"text\":\"<b>'$i\"$*\"'\"}'; "
         "echo '{\"attempt\":1,\"replica\":0,\"stream\":\"stderr\",\"text\":\"other\"}'; done;; esac";
}

class ClusterRoutesTest : public testing::Test {
 protected:
  ClusterRoutesTest() { world_.spawner.line = cluster_with(R"({"id":"a","status":"running","name":"train"})"); }

  json add(const std::string& spec) { return world_.json("POST /api/v1/clusters", json{{"spec", spec}}); }
  int status(const std::string& line, const json& body = nullptr) {
    return HttpWorld::status_of(world_.ask(line, body));
  }
  static std::string of_ray(const std::string& path) {
    return path + (path.find('?') == std::string::npos ? "?" : "&") + "cluster=" + kName;
  }

  HttpWorld world_;
};

TEST_F(ClusterRoutesTest, a_cluster_that_was_named_is_listed_with_the_counts_of_its_jobs) {
  EXPECT_EQ(world_.json("GET /api/v1/clusters")["clusters"], json::array());
  const json told = add(kRay);
  EXPECT_EQ(told["name"], kName);
  EXPECT_EQ(told["kind"], "ray");
  EXPECT_EQ(told["answers"], true);
  EXPECT_EQ(told["jobs"]["running"], 1);
  EXPECT_EQ(told["jobs"]["failed"], 0);
  add(kRay);
  EXPECT_EQ(world_.json("GET /api/v1/clusters")["clusters"].size(), 1u) << "the same cluster is one";
  EXPECT_EQ(world_.json(std::string("DELETE /api/v1/clusters/") + kName)["name"], kName);
  EXPECT_EQ(world_.json("GET /api/v1/clusters")["clusters"], json::array());
  EXPECT_EQ(status(std::string("DELETE /api/v1/clusters/") + kName), 404);
}

TEST_F(ClusterRoutesTest, the_same_routes_answer_for_the_jobs_of_a_cluster) {
  add(kRay);
  world_.node->jobs["own"].spec.id = "own";
  EXPECT_EQ(world_.json("GET /api/v1/jobs")["jobs"][0]["id"], "own");
  EXPECT_EQ(world_.json("GET " + of_ray("/api/v1/jobs"))["jobs"][0]["id"], "a");
  EXPECT_EQ(world_.json("GET " + of_ray("/api/v1/jobs/a"))["name"], "train");
  EXPECT_EQ(world_.json("POST " + of_ray("/api/v1/jobs/a/stop"))["id"], "a");
  EXPECT_EQ(world_.json("DELETE " + of_ray("/api/v1/jobs/a"))["id"], "a");
  EXPECT_TRUE(world_.node->jobs.contains("own"));
}

TEST_F(ClusterRoutesTest, what_a_job_of_a_cluster_prints_comes_as_that_of_any_job) {
  add(kRay);
  const std::string log = world_.ask("GET " + of_ray("/api/v1/jobs/a/logs/follow?tail=7"));
  EXPECT_THAT(log, HasSubstr("text/event-stream"));
  EXPECT_THAT(log, HasSubstr("--follow --tail 7 -- a"));
  EXPECT_THAT(log, HasSubstr("<b>3"));
  EXPECT_THAT(log, Not(HasSubstr("other"))) << "that is the other stream";
  EXPECT_THAT(log, HasSubstr("event: end"));
  EXPECT_THAT(world_.ask("GET " + of_ray("/api/v1/jobs/a/logs/follow?attempt=2")),
              HasSubstr("--follow --attempt 2 -- a"));
  const std::string whole = world_.ask("GET " + of_ray("/api/v1/jobs/a/logs?stream=stderr"));
  EXPECT_EQ(HttpWorld::body_of(whole), "other\nother\nother\n");
  EXPECT_THAT(whole, HasSubstr("Fray-Ended: true"));
  EXPECT_EQ(HttpWorld::body_of(world_.ask("GET " + of_ray("/api/v1/jobs/a/logs?stream=stderr&offset=13"))),
            "ther\n"
            "")
      << "an offset goes on there";
}

TEST_F(ClusterRoutesTest, the_end_of_a_stopped_job_is_no_failure_of_who_reads_its_log) {
  add(kRay);
  world_.spawner.line = cluster_with(R"({"id":"a","status":"stopped"})") +
                        "; echo 'job a stopped after 3 s' >&2; test $2 != logs || exit 130";
  const std::string log = world_.ask("GET " + of_ray("/api/v1/jobs/a/logs/follow"));
  EXPECT_THAT(log, HasSubstr("event: end"));
  EXPECT_THAT(log, Not(HasSubstr("event: error")));
}

TEST_F(ClusterRoutesTest, a_token_goes_to_the_program_that_asks_and_nowhere_else) {
  world_.spawner.line = R"sh(test "$2" = logs && {
    echo "{\"replica\":0,\"stream\":\"stdout\",\"text\":\"$RAY_AUTH_TOKEN\"}"; exit; }
    echo "{\"jobs\": [{\"id\":\"a\",\"status\":\"running\",\"name\":\"$RAY_AUTH_TOKEN $*\"}]}")sh";
  const auto named = [&](const json& order) { return world_.ask("POST /api/v1/clusters", order); };
  EXPECT_THAT(named({{"spec", kRay}, {"token", "s3cret"}}), Not(HasSubstr("s3cret")));
  EXPECT_THAT(world_.ask("GET /api/v1/clusters"), Not(HasSubstr("s3cret")));
  const std::string name = world_.json("GET " + of_ray("/api/v1/jobs"))["jobs"][0]["name"];
  EXPECT_THAT(name, testing::StartsWith("s3cret job list")) << "in its environment";
  EXPECT_THAT(name.substr(6), Not(HasSubstr("s3cret"))) << "and not among its words, which others may read";
  EXPECT_EQ(HttpWorld::body_of(world_.ask("GET " + of_ray("/api/v1/jobs/a/logs"))), "s3cret\n");
  named({{"spec", kRay}});
  EXPECT_THAT(world_.json("GET " + of_ray("/api/v1/jobs"))["jobs"][0]["name"].get<std::string>(),
              Not(HasSubstr("s3cret")))
      << "named anew without one, the node finds one by itself";
  for (const char* wrong : {"two words", "line\nbreak", "\u00e4"}) {
    EXPECT_EQ(HttpWorld::status_of(named({{"spec", kRay}, {"token", wrong}})), 400) << wrong;
  }
  EXPECT_EQ(HttpWorld::status_of(named({{"spec", "local?address=/tmp/none"}, {"token", "s3cret"}})), 400);
  EXPECT_EQ(HttpWorld::status_of(named({{"spec", kRay}, {"token", 7}})), 400);
}

TEST_F(ClusterRoutesTest, what_is_not_there_and_what_is_no_cluster_is_a_sentence) {
  EXPECT_THAT(world_.ask("GET " + of_ray("/api/v1/jobs")), HasSubstr("fray dashboard --cluster"));
  EXPECT_EQ(status("GET " + of_ray("/api/v1/jobs")), 404);
  EXPECT_EQ(status("GET " + of_ray("/api/v1/jobs/a/logs/follow")), 404);
  add(kRay);
  const std::string none = world_.ask("GET " + of_ray("/api/v1/jobs/b"));
  EXPECT_EQ(HttpWorld::status_of(none), 404);
  EXPECT_THAT(none, HasSubstr("there is no job b"));
  EXPECT_EQ(status("GET " + of_ray("/api/v1/jobs/b/logs/follow")), 404);
  EXPECT_EQ(status("POST " + of_ray("/api/v1/jobs"), json{{"command", {"true"}}}), 400);
  for (const char* spec : {"", "local", "ray", "ray?address", "ray?ca_file=a&address=http://h", "\xff"}) {
    EXPECT_EQ(
        status("POST /api/v1/clusters", json{{"spec", json::parse("\"" + std::string(spec) + "\"", nullptr, false)}}),
        400)
        << spec;
  }
  EXPECT_EQ(status("POST /api/v1/clusters", json{{"spec", std::string(5000, 'a')}}), 400);
  EXPECT_EQ(status("POST /api/v1/clusters", json{{"spec", 7}}), 400);
  EXPECT_EQ(status("POST /api/v1/clusters", json{{"spec", kRay}, {"more", 1}}), 400);
}

TEST_F(ClusterRoutesTest, an_id_is_never_an_option) {
  add(kRay);
  EXPECT_THAT(world_.ask("GET " + of_ray("/api/v1/jobs/--socket=x")), HasSubstr("there is no job --socket=x"));
}

TEST_F(ClusterRoutesTest, a_cluster_that_does_not_answer_says_so_and_keeps_what_it_said_last) {
  add(kRay);
  world_.spawner.line = "echo 'fray job list: nobody answers at 10.0.0.5:8265; is the Ray head up?' >&2; exit 5";
  const std::string answer = world_.ask("GET " + of_ray("/api/v1/jobs"));
  EXPECT_EQ(HttpWorld::status_of(answer), 503);
  EXPECT_THAT(answer, HasSubstr("is the Ray head up?"));
  const json told = world_.json("GET /api/v1/clusters")["clusters"][0];
  EXPECT_EQ(told["answers"], false);
  EXPECT_THAT(told["problem"].get<std::string>(), HasSubstr("is the Ray head up?"));
  EXPECT_EQ(told["jobs"]["running"], 1);
}

TEST_F(ClusterRoutesTest, a_spec_that_its_client_does_not_understand_is_not_kept) {
  world_.spawner.line = "echo 'fray job list: a Ray cluster has no key \"colour\"' >&2; exit 2";
  const std::string answer = world_.ask("POST /api/v1/clusters", json{{"spec", std::string(kRay) + "&colour=red"}});
  EXPECT_EQ(HttpWorld::status_of(answer), 400);
  EXPECT_THAT(answer, HasSubstr("colour"));
  EXPECT_EQ(world_.json("GET /api/v1/clusters")["clusters"], json::array());
}

TEST_F(ClusterRoutesTest, who_leaves_ends_the_program_that_reads_for_them) {
  add(kRay);
  world_.spawner.line =
      cluster_with(R"({"id":"a","status":"running"})") + "; test $2 = logs && exec cat /dev/zero >/dev/null";
  os::Fd page = world_.connect();
  HttpWorld::send(page, "GET " + of_ray("/api/v1/jobs/a/logs/follow") + " HTTP/1.1\r\n" + world_.headers() + "\r\n");
  world_.read(page, [](const std::string& text) { return text.find("<b>3") != std::string::npos; });
  EXPECT_EQ(os::children_of_this_process().size(), 1u);
  page.reset();
  for (int i = 0; i < 3000 && !os::children_of_this_process().empty(); ++i) {
    world_.loop->run_once(std::chrono::milliseconds(10));
    while (os::reap_one()) {
    }
  }
  EXPECT_TRUE(os::children_of_this_process().empty());
}

}  // namespace
}  // namespace fray::http
