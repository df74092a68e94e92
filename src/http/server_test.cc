#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/http_test_world.h"

namespace fray::http {
namespace {

using testing::HasSubstr;

TEST(ServerTest, a_connection_serves_many_requests_also_when_they_come_at_once) {
  HttpWorld world;
  os::Fd fd = world.connect();
  const std::string request = "GET /api/v1/openapi.json HTTP/1.1\r\n" + world.headers() + "\r\n";
  const std::string last = "GET /api/version HTTP/1.1\r\n" + world.headers() + "Connection: close\r\n\r\n";
  HttpWorld::send(fd, request + request + last);
  const std::string text = world.read_to_end(fd);
  std::size_t answers = 0;
  for (std::size_t at = text.find("HTTP/1.1 200"); at != std::string::npos; at = text.find("HTTP/1.1 200", at + 1)) {
    ++answers;
  }
  EXPECT_EQ(answers, 3u);
}

TEST(ServerTest, a_body_is_not_read_for_who_may_not_ask) {
  HttpWorld world;
  os::Fd fd = world.connect();
  HttpWorld::send(fd, "POST /api/v1/jobs HTTP/1.1\r\nHost: " + world.host() +
                          "\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n");
  EXPECT_EQ(HttpWorld::status_of(world.read_to_end(fd)), 401);
}

TEST(ServerTest, who_asks_for_it_is_told_to_go_on_with_the_body) {
  HttpWorld world;
  os::Fd fd = world.connect();
  const std::string body = R"({"command": ["true"]})";
  HttpWorld::send(fd, "POST /api/v1/jobs HTTP/1.1\r\n" + world.headers() +
                          "Connection: close\r\nExpect: 100-continue\r\n" +
                          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_THAT(world.read(fd, [](const std::string& got) { return !got.empty(); }), HasSubstr("100 Continue"));
  HttpWorld::send(fd, body);
  EXPECT_EQ(HttpWorld::status_of(world.read_to_end(fd)), 200);
}

TEST(ServerTest, strangers_that_say_nothing_make_room_for_those_who_ask) {
  HttpWorld world;
  std::vector<os::Fd> strangers;
  for (std::size_t i = 0; i < Server::kMostConnections + 20; ++i) {
    strangers.push_back(world.connect());
    world.loop->run_once(std::chrono::milliseconds(1));
  }
  EXPECT_LE(world.server->connection_count(), Server::kMostConnections);
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/version")), 200);
}

TEST(ServerTest, strangers_that_look_at_the_page_make_room_for_those_who_ask) {
  HttpWorld world;
  std::vector<os::Fd> strangers;
  for (std::size_t i = 0; i < Server::kMostConnections; ++i) {
    strangers.push_back(world.connect());
    HttpWorld::send(strangers.back(), "GET / HTTP/1.1\r\nHost: " + world.host() + "\r\nCookie: fray_1=1\r\n\r\n");
    world.read(strangers.back(), [](const std::string& got) { return got.ends_with("\r\n\r\n"); });
  }
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/version")), 200);
}

TEST(ServerTest, a_client_that_does_not_read_holds_nobody_up) {
  HttpWorld world;
  world.node->document["padding"] = std::string(8 << 20, 'x');
  os::Fd slow = world.connect();
  HttpWorld::send(slow, "GET /api/v1/status HTTP/1.1\r\n" + world.headers() + "\r\n");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/version")), 200);
  HttpWorld::send(slow, "GET /api/version HTTP/1.1\r\n" + world.headers() + "Connection: close\r\n\r\n");
  EXPECT_GT(world.read_to_end(slow).size(), 8u << 20);
}

TEST(ServerTest, what_is_no_http_is_answered_and_closed) {
  HttpWorld world;
  os::Fd fd = world.connect();
  HttpWorld::send(fd, std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + std::string(100, '\n') + "\r\n\r\n");
  EXPECT_EQ(HttpWorld::status_of(world.read_to_end(fd)), 400);
}

TEST(ServerTest, it_listens_on_loopback_alone) {
  HttpWorld world;
  EXPECT_THAT(world.server->url(), HasSubstr("http://127.0.0.1:"));
  auto taken = Server::start(*world.loop, world.server->port(), "x", world.api->sessions(), world.api->routes());
  ASSERT_FALSE(taken.is_ok());
  EXPECT_THAT(taken.status().message(), HasSubstr("cannot listen at 127.0.0.1:"));
}

}  // namespace
}  // namespace fray::http
