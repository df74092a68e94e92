#include "ray/log_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client/scripted_server.h"
#include "websocket/frames.h"

namespace fray::ray {
namespace {

using http_client::ScriptedServer;
using std::chrono::milliseconds;
using testing::HasSubstr;
using Visit = ScriptedServer::Visit;

std::string job_json(const char* status) {
  return std::string(R"({"type":"SUBMISSION","submission_id":"a","status":")") + status + R"(","entrypoint":"true"})";
}

void upgrade(Visit& visit) {
  const std::string name = "Sec-WebSocket-Key: ";
  const std::size_t begin = visit.head.find(name) + name.size();
  const std::string key = visit.head.substr(begin, visit.head.find('\r', begin) - begin);
  visit.send("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
             websocket::accept_key(key) + "\r\n\r\n");
}

using websocket::text_frame;
const std::string kClose = websocket::close_frame(websocket::kNormal);

struct Followed {
  std::string text;
  Status status;
  bool ended = false;
};

Followed follow(const Endpoint& endpoint, std::uint64_t offset = 0) {
  const Jobs jobs(endpoint);
  LogFollower log(jobs, "a", offset);
  Followed followed;
  while (!followed.ended && followed.status.is_ok()) {
    std::string text;
    auto event = log.next(&text, milliseconds(20));
    if (!event.is_ok()) followed.status = event.status();
    EXPECT_EQ(!text.empty(), event.is_ok() && *event == LogFollower::Event::kText);
    followed.text += text;
    if (event.is_ok() && *event == LogFollower::Event::kEnd) followed.ended = true;
  }
  return followed;
}

TEST(LogFollowerTest, a_log_is_followed_to_the_jobs_end) {
  ScriptedServer server([](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json("SUCCEEDED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\ntwo\n"})");
    upgrade(visit);
    visit.send(text_frame("one\n") + text_frame("two\n") + kClose);
    visit.hang();
  });
  const Followed followed = follow(server.endpoint());
  EXPECT_TRUE(followed.status.is_ok()) << followed.status.message();
  EXPECT_EQ(followed.text, "one\ntwo\n");
  EXPECT_TRUE(followed.ended);
}

TEST(LogFollowerTest, after_a_cut_nothing_is_repeated_and_nothing_left_out) {
  int visits = 0;
  ScriptedServer server([&](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json("FAILED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\ntwo\nthree\n"})");
    upgrade(visit);
    if (visits++ == 0) {
      visit.send(text_frame("one\ntw"));
      visit.close();
      return;
    }
    visit.send(text_frame("one\n") + text_frame("two\nthree\n") + kClose);
    visit.hang();
  });
  EXPECT_EQ(follow(server.endpoint()).text, "one\ntwo\nthree\n");
  EXPECT_EQ(visits, 2);
}

TEST(LogFollowerTest, what_the_connection_closed_too_early_for_is_read_afterwards) {
  ScriptedServer server([](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json("SUCCEEDED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\nlate\n"})");
    upgrade(visit);
    visit.send(text_frame("one\n") + kClose);
    visit.hang();
  });
  EXPECT_EQ(follow(server.endpoint()).text, "one\nlate\n");
}

TEST(LogFollowerTest, a_log_that_closes_while_the_job_runs_is_opened_again) {
  int asked = 0;
  ScriptedServer server([&](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json(asked++ == 0 ? "RUNNING" : "SUCCEEDED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\n"})");
    upgrade(visit);
    visit.send(text_frame("one\n") + kClose);
    visit.hang();
  });
  EXPECT_EQ(follow(server.endpoint()).text, "one\n");
  EXPECT_EQ(asked, 2);
}

TEST(LogFollowerTest, following_goes_on_from_an_offset) {
  ScriptedServer server([](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json("SUCCEEDED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\ntwo\n"})");
    upgrade(visit);
    visit.send(text_frame("one\n") + text_frame("two\n") + kClose);
    visit.hang();
  });
  EXPECT_EQ(follow(server.endpoint(), 6).text, "o\n");
}

TEST(LogFollowerTest, a_log_that_comes_in_pieces_with_pings_between_is_whole) {
  bool answered = false;
  ScriptedServer server([&](Visit& visit) {
    if (visit.line == "GET /api/jobs/a") return visit.answer(200, job_json("SUCCEEDED"));
    if (visit.line == "GET /api/jobs/a/logs") return visit.answer(200, R"({"logs":"one\ntwo\n"})");
    upgrade(visit);
    for (char byte : websocket::ping_frame() + text_frame("one\n")) visit.send({&byte, 1});
    answered = visit.receive(6).substr(0, 2) == "\x8A\x80";  // a masked pong without a payload
    visit.send(text_frame("two\n") + kClose);
    visit.hang();
  });
  EXPECT_EQ(follow(server.endpoint()).text, "one\ntwo\n");
  EXPECT_TRUE(answered);
}

TEST(LogFollowerTest, what_does_not_speak_websocket_is_told_as_such) {
  struct Row {
    std::string sent;
    const char* words;
  };
  for (const Row& row :
       {Row{"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "Sec-WebSocket-Accept"},
        Row{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "200"},
        Row{"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"}, Row{"", "cut"}}) {
    ScriptedServer server([&](Visit& visit) { visit.send(row.sent); });
    const Followed followed = follow(server.endpoint());
    EXPECT_FALSE(followed.status.is_ok()) << row.sent;
    EXPECT_THAT(followed.status.message(), HasSubstr(row.words));
  }
}

TEST(LogFollowerTest, a_log_that_is_silent_leaves_the_caller_its_time) {
  ScriptedServer server([](Visit& visit) {
    upgrade(visit);
    visit.send(text_frame("never whole").substr(0, 5));
    visit.hang();
  });
  const Jobs jobs(server.endpoint());
  LogFollower log(jobs, "a", 0);
  std::string text;
  for (int i = 0; i < 3; ++i) {
    auto event = log.next(&text, milliseconds(20));
    ASSERT_TRUE(event.is_ok()) << event.status().message();
    EXPECT_EQ(*event, LogFollower::Event::kNothing);
  }
}

TEST(LogFollowerTest, a_job_that_is_not_there_and_a_cluster_that_is_not_are_told_at_once) {
  Endpoint gone;
  {
    ScriptedServer server([](Visit& visit) { visit.answer(404, "Job a does not exist"); });
    gone = server.endpoint();
    EXPECT_EQ(follow(gone).status.code(), StatusCode::kNotFound);
  }
  const Followed followed = follow(gone);
  EXPECT_EQ(followed.status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(followed.status.message(), HasSubstr("refused"));
}

}  // namespace
}  // namespace fray::ray
