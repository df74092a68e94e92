#include "http/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/http_test_world.h"
#include "websocket/frames.h"

namespace fray::http {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The path of a route with something in the place of its braces.
std::string path_of(const Route& route) {
  std::string path = route.pattern;
  while (path.find('{') != std::string::npos) {
    const std::size_t begin = path.find('{');
    path.replace(begin, path.find('}') - begin + 1, "job-0");
  }
  return path;
}

// Three times two times two: only the own host, no foreign origin and the right token together may pass.
TEST(ApiTest, every_route_of_the_document_refuses_eleven_of_twelve_combinations_of_headers) {
  HttpWorld world;
  const nlohmann::json document = world.json("GET /api/v1/openapi.json");
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  ASSERT_EQ(operations, world.api->routes().routes().size());
  ASSERT_GT(operations, 20u);
  for (const Route& route : world.api->routes().routes()) {
    ASSERT_TRUE(document["paths"][route.pattern].contains([&] {
      std::string method = route.method;
      for (char& c : method) c = static_cast<char>(std::tolower(c));
      return method;
    }()));
    int passed = 0;
    for (const std::string& host : {world.host(), std::string("evil.example:80")}) {
      for (const std::string& origin : {std::string(), "http://" + world.host(), std::string("http://evil.example")}) {
        for (const char* token : {HttpWorld::kToken, "wrong"}) {
          std::string head = "Host: " + host + "\r\nAuthorization: Bearer " + token + "\r\n";
          if (!origin.empty()) head += "Origin: " + origin + "\r\n";
          // A stream that is let begin would not end.
          const char* query = route.pattern.ends_with("/live") ? "?topics=none" : "";
          const std::string answer = world.ask(route.method + " " + path_of(route) + query, head);
          const int status = HttpWorld::status_of(answer);
          const bool right_host = host == world.host();
          const bool right_origin = origin != "http://evil.example";
          const int expected = !right_host ? 421 : !right_origin || std::string_view(token) == "wrong" ? 403 : 0;
          if (expected != 0) {
            EXPECT_EQ(status, expected) << route.pattern << "\n" << head;
          } else {
            const bool is_refused = status == 401 || status == 403 || status == 421 || status == 0;
            EXPECT_TRUE(!is_refused || route.pattern == "/dashboard/login") << answer;  // the link is none
            ++passed;
          }
          EXPECT_THAT(answer, Not(HasSubstr("Access-Control"))) << route.pattern;
          EXPECT_THAT(answer, Not(HasSubstr(HttpWorld::kToken))) << route.pattern;
        }
      }
    }
    EXPECT_EQ(passed, 2) << route.pattern;  // with the own origin, and without any
    const int without_token =
        HttpWorld::status_of(world.ask(route.method + " " + path_of(route), "Host: " + world.host() + "\r\n"));
    if (route.access == Access::kAnybody) {
      EXPECT_TRUE(route.pattern == "/" || route.pattern.starts_with("/dashboard/")) << route.pattern;
      EXPECT_NE(without_token, 401) << route.pattern;
    } else {
      EXPECT_EQ(without_token, 401) << route.pattern;
    }
  }
}

TEST(ApiTest, the_status_is_the_nodes_and_its_parts_are_to_be_had) {
  HttpWorld world;
  EXPECT_EQ(world.json("GET /api/v1/status"), world.node->document);
  EXPECT_EQ(world.json("GET /api/v1/actors")["actors"], world.node->document["actors"]);
  EXPECT_EQ(world.json("GET /api/v1/nodes")["nodes"][0]["pid"], 1);
  EXPECT_THAT(world.ask("GET /metrics"), HasSubstr("fray_actors{state=\"alive\"} 1"));
}

TEST(ApiTest, unknown_paths_and_methods_are_told_apart) {
  HttpWorld world;
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/nothing")), 404);
  const std::string answer = world.ask("PUT /api/v1/jobs");
  EXPECT_EQ(HttpWorld::status_of(answer), 405);
  EXPECT_THAT(answer, HasSubstr("Allow: GET, POST"));
}

TEST(ApiTest, a_job_is_submitted_watched_stopped_and_forgotten) {
  HttpWorld world;
  const nlohmann::json order = {{"command", {"python", "a b.py"}}, {"id", "mine"},      {"environment", {{"A", "1"}}},
                                {"resources", {{"CPU", 1}}},       {"replicas", 2},     {"priority", -3},
                                {"deadline_seconds", 1.5},         {"grace_seconds", 0}};
  EXPECT_EQ(world.json("POST /api/v1/jobs", order)["id"], "mine");
  const JobSpec& taken = world.node->jobs["mine"].spec;
  EXPECT_EQ(taken.command, (std::vector<std::string>{"python", "a b.py"}));
  EXPECT_THAT(taken.environment, Contains(std::pair("A", "1")));
  EXPECT_EQ(taken.replicas, 2u);
  EXPECT_EQ(taken.priority, -3);
  EXPECT_EQ(taken.deadline_seconds, 1.5);
  EXPECT_EQ(taken.grace_seconds, 0.0);
  EXPECT_EQ(HttpWorld::status_of(world.ask("POST /api/v1/jobs", order)), 409);
  EXPECT_EQ(world.json("GET /api/v1/jobs")["jobs"].size(), 1u);
  world.node->print("mine", "hello\n");
  const std::string log = world.ask("GET /api/v1/jobs/mine/logs?offset=2");
  EXPECT_EQ(HttpWorld::body_of(log), "llo\n");
  EXPECT_THAT(log, HasSubstr("Fray-Next-Offset: 6\r\n"));
  world.node->print("mine", "and\nmore\n");
  EXPECT_EQ(HttpWorld::body_of(world.ask("GET /api/v1/jobs/mine/logs?tail=2")), "and\nmore\n");
  EXPECT_EQ(HttpWorld::body_of(world.ask("GET /api/v1/jobs/mine/logs?tail=2&offset=13")), "e\n");
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/jobs/mine/logs?tail=-1")), 400);
  EXPECT_EQ(world.json("POST /api/v1/jobs/mine/stop")["status"], "stopped");
  EXPECT_EQ(HttpWorld::status_of(world.ask("DELETE /api/v1/jobs/mine")), 200);
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/jobs/mine")), 404);
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/jobs/mine/logs/follow")), 404);
}

TEST(ApiTest, orders_that_cannot_be_say_what_is_wrong) {
  HttpWorld world;
  for (const auto& [order, words] : {std::pair<nlohmann::json, const char*>{{{"command", "true"}}, "list of texts"},
                                     {{{"command", {"a"}}, {"cpu", 1}}, "there is no key \\\"cpu\\\""},
                                     {{{"command", {"a"}}, {"replicas", 0}}, "from 1 to"},
                                     {{{"command", {"a"}}, {"priority", 0.5}}, "from -1000000 to 1000000"},
                                     {{{"command", {"a"}}, {"priority", 1e10}}, "whole number"},
                                     {{{"command", {"a"}}, {"deadline_seconds", "2h"}}, "must be a number"},
                                     {{{"command", {"a"}}, {"grace_seconds", -1}}, "from 0 to"},
                                     {{{"command", {"a"}}, {"environment", {{"SECRET", 4711}}}}, "SECRET"},
                                     {nlohmann::json::array({1}), "JSON object"}}) {
    const std::string answer = world.ask("POST /api/v1/jobs", order);
    EXPECT_EQ(HttpWorld::status_of(answer), 400) << answer;
    EXPECT_THAT(answer, HasSubstr(words));
    EXPECT_THAT(answer, Not(HasSubstr("4711")));
  }
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/jobs/a/logs?offset=x")), 400);
}

TEST(ApiTest, a_log_is_followed_as_events_to_its_end) {
  HttpWorld world;
  (void)world.json("POST /api/v1/jobs", {{"command", {"true"}}, {"id", "a"}});
  os::Fd fd = world.connect();
  HttpWorld::send(fd, "GET /api/v1/jobs/a/logs/follow HTTP/1.1\r\n" + world.headers() + "\r\n");
  world.node->print("a", "one\n");
  std::string text = world.read(fd, [](const std::string& got) { return got.find("one") != std::string::npos; });
  EXPECT_THAT(text, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(text, HasSubstr("id: 4\ndata: "));
  world.node->print("a", "t\xFFwo\n");
  world.node->end("a", JobState::kSucceeded);
  text = world.read_to_end(fd);
  EXPECT_THAT(text, HasSubstr("t\xEF\xBF\xBDwo"));
  EXPECT_THAT(text, HasSubstr("event: end\n"));
}

TEST(ApiTest, rays_routes_answer_as_ray_does) {
  HttpWorld world;
  EXPECT_EQ(world.json("GET /api/version")["ray_version"], "2.60.0");
  EXPECT_EQ(world.json("GET /api/jobs/"), nlohmann::json::array());
  const nlohmann::json order = {{"entrypoint", "echo $A"},
                                {"submission_id", "raysubmit_a"},
                                {"runtime_env", {{"env_vars", {{"A", "hidden-word"}}}}},
                                {"metadata", {{"owner", "me"}}},
                                {"entrypoint_num_cpus", 1}};
  EXPECT_EQ(world.json("POST /api/jobs/", order)["submission_id"], "raysubmit_a");
  const JobSpec& taken = world.node->jobs["raysubmit_a"].spec;
  EXPECT_EQ(taken.command, (std::vector<std::string>{"/bin/sh", "-c", "exec 2>&1\necho $A"}));
  EXPECT_THAT(taken.environment, Contains(std::pair("A", "hidden-word")));
  EXPECT_EQ(taken.resources.amount("CPU"), 1);
  const std::string again = world.ask("POST /api/jobs/", order);
  EXPECT_EQ(HttpWorld::status_of(again), 500);
  EXPECT_THAT(again, HasSubstr("already exists"));
  nlohmann::json job = world.json("GET /api/jobs/raysubmit_a");
  EXPECT_EQ(job["status"], "RUNNING");
  EXPECT_EQ(job["entrypoint"], "echo $A");
  EXPECT_EQ(job["metadata"], nlohmann::json({{"owner", "me"}}));
  EXPECT_EQ(job["start_time"], 5250);
  EXPECT_EQ(job["end_time"], nullptr);
  EXPECT_THAT(job.dump(), Not(HasSubstr("hidden-word")));
  EXPECT_EQ(HttpWorld::body_of(world.ask("GET /api/jobs/raysubmit_")), "Job raysubmit_ does not exist");
  EXPECT_EQ(HttpWorld::status_of(world.ask("DELETE /api/jobs/raysubmit_a")), 500);
  EXPECT_EQ(world.json("POST /api/jobs/raysubmit_a/stop")["stopped"], true);
  EXPECT_EQ(world.json("POST /api/jobs/raysubmit_a/stop")["stopped"], false);
  EXPECT_EQ(world.json("GET /api/jobs/raysubmit_a")["end_time"], 7000);
  EXPECT_EQ(world.json("DELETE /api/jobs/raysubmit_a")["deleted"], true);
}

TEST(ApiTest, what_nests_too_deeply_is_refused_on_every_route_that_takes_a_body) {
  for (const auto& [open, close] : {std::pair{std::string("["), "]"}, {R"({"a":)", "}"}, {R"({"a":[)", "]}"}}) {
    for (const int depth : {150, 60'000}) {
      std::string deep;
      for (int i = 0; i < depth; ++i) deep += open;
      deep += "1";
      for (int i = 0; i < depth; ++i) deep += close;
      HttpWorld world;
      for (const Route& route : world.api->routes().routes()) {
        if (route.method != "POST" && route.method != "PUT") continue;
        for (const char* member : {"runtime_env", "metadata", "environment", "unknown"}) {
          const std::string body =
              R"({"entrypoint":"true","command":["true"],")" + std::string(member) + "\":" + deep + "}";
          const std::string line = route.method + " " + path_of(route);
          const int status = HttpWorld::status_of(world.ask(line, world.headers(), body));
          EXPECT_TRUE(status >= 200 && status <= 500) << line << " " << member << ": " << status;
        }
      }
      EXPECT_EQ(world.json("GET /api/jobs/"), nlohmann::json::array());
      const std::string said = world.ask("POST /api/jobs/", world.headers(),
                                         R"({"entrypoint":"true","runtime_env":{"config":)" + deep + "}}");
      EXPECT_THAT(said, HasSubstr("more than 100 levels deep"));
    }
  }
}

TEST(ApiTest, a_websocket_carries_a_log_to_the_jobs_end) {
  HttpWorld world;
  (void)world.json("POST /api/jobs/", {{"entrypoint", "true"}, {"submission_id", "a"}});
  os::Fd fd = world.connect();
  HttpWorld::send(fd, "GET /api/jobs/a/logs/tail HTTP/1.1\r\n" + world.headers() +
                          "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  world.node->print("a", "one\n");
  std::string text = world.read(fd, [](const std::string& got) { return got.find("one") != std::string::npos; });
  EXPECT_THAT(text, HasSubstr("101 Switching Protocols"));
  EXPECT_THAT(text, HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  EXPECT_THAT(text, HasSubstr(websocket::text_frame("one\n")));
  world.node->end("a", JobState::kSucceeded);
  EXPECT_EQ(world.read_to_end(fd), websocket::close_frame(1000));
}

TEST(ApiTest, a_reader_that_leaves_ends_its_stream) {
  HttpWorld world;
  (void)world.json("POST /api/v1/jobs", {{"command", {"true"}}, {"id", "a"}});
  os::Fd fd = world.connect();
  HttpWorld::send(fd, "GET /api/v1/jobs/a/logs/follow HTTP/1.1\r\n" + world.headers() + "\r\n");
  (void)world.read(fd, [](const std::string& got) { return got.find("event-stream") != std::string::npos; });
  fd.reset();
  for (int i = 0; i < 100 && world.server->connection_count() > 0; ++i) {
    world.loop->run_once(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(world.server->connection_count(), 0u);
  EXPECT_TRUE(world.node->readers.empty()) << "the node was told that nobody waits any more";
  world.node->print("a", "nobody reads this\n");
  world.loop->run_once(std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace fray::http
