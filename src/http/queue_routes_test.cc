#include "http/queue_routes.h"

#include <fstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "http/http_test_world.h"

namespace fray::http {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json items(std::initializer_list<const char*> texts) {
  json list = json::array();
  for (const char* text : texts) list.push_back(encode_base64(text));
  return {{"items", std::move(list)}};
}

class QueueRoutesTest : public testing::Test {
 protected:
  QueueRoutesTest() { EXPECT_EQ(world.json("PUT /api/v1/queues/q")["waiting"], 0); }

  std::string pop() {
    const json leases = world.json("POST /api/v1/queues/q/pop", json::object())["leases"];
    if (leases.empty()) return "";
    lease_id = leases[0]["lease_id"];
    return *bytes_of_base64(leases[0]["item"].get<std::string>());
  }

  HttpWorld world;
  std::string lease_id;
};

TEST_F(QueueRoutesTest, an_item_is_pushed_shown_leased_released_and_done) {
  EXPECT_EQ(world.json("POST /api/v1/queues/q/push", items({"one", "two"}))["pushed"], 2);
  EXPECT_EQ(world.json("GET /api/v1/queues/q/peek")["items"], json::array({encode_base64("one")}));
  EXPECT_EQ(pop(), "one");
  json told = world.json("GET /api/v1/queues/q");
  EXPECT_EQ(told["leased"], 1);
  EXPECT_EQ(told["bytes"], 6);
  EXPECT_EQ(world.json("POST /api/v1/queues/q/release", {{"leases", {lease_id}}})["ended"], 1);
  EXPECT_EQ(pop(), "one");
  EXPECT_EQ(world.json("POST /api/v1/queues/q/done", {{"leases", {lease_id}}})["ended"], 1);
  told = world.json("POST /api/v1/queues/q/done", {{"leases", {lease_id, "x"}}});
  EXPECT_EQ(told["invalid"], json::array({lease_id, "x"}));
  EXPECT_EQ(world.json("POST /api/v1/queues/q/purge", json::object())["purged"], 1);
  EXPECT_EQ(pop(), "");
  EXPECT_EQ(world.json("GET /api/v1/queues")["queues"].size(), 1u);
  EXPECT_EQ(HttpWorld::status_of(world.ask("DELETE /api/v1/queues/q")), 200);
  EXPECT_EQ(HttpWorld::status_of(world.ask("GET /api/v1/queues/q")), 404);
}

TEST_F(QueueRoutesTest, items_outlive_the_node_and_so_do_their_leases) {
  (void)world.json("POST /api/v1/queues/q/push", items({"one", "two"}));
  EXPECT_EQ(pop(), "one");
  world.node->queues.reset();  // as in a node's end: nothing was told of it
  world.node->queues = std::make_unique<node::QueueCarrier>(*world.loop, world.folder / "queues", false);
  EXPECT_EQ(pop(), "two");
  EXPECT_EQ(pop(), "");
  EXPECT_EQ(world.json("GET /api/v1/queues/q")["leased"], 2);
}

TEST_F(QueueRoutesTest, who_waits_is_answered_when_an_item_comes) {
  os::Fd fd = world.connect();
  const std::string body = R"({"wait":30})";
  HttpWorld::send(fd, "POST /api/v1/queues/q/pop HTTP/1.1\r\n" + world.headers() +
                          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  while (world.json("GET /api/v1/queues/q")["waiters"] != 1) continue;
  (void)world.json("POST /api/v1/queues/q/push", items({"one"}));
  const std::string text =
      world.read(fd, [](const std::string& got) { return got.find("lease_id") != std::string::npos; });
  EXPECT_THAT(text, HasSubstr(encode_base64("one")));
}

TEST_F(QueueRoutesTest, who_leaves_while_it_waits_takes_nothing_with_it) {
  const std::string body = R"({"wait":30})";
  const std::string request = "POST /api/v1/queues/q/pop HTTP/1.1\r\n" + world.headers() +
                              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  os::Fd gone = world.connect();
  HttpWorld::send(gone, request);
  os::Fd half_closed = world.connect();
  HttpWorld::send(half_closed, request);
  while (world.json("GET /api/v1/queues/q")["waiters"] != 2) continue;
  gone.reset();
  ::shutdown(half_closed.get(), SHUT_WR);
  EXPECT_THAT(world.read_to_end(half_closed), HasSubstr("\"leases\":[]"));
  while (world.json("GET /api/v1/queues/q")["waiters"] != 0) continue;
  (void)world.json("POST /api/v1/queues/q/push", items({"one"}));
  EXPECT_EQ(pop(), "one");
}

TEST_F(QueueRoutesTest, one_who_waits_beside_too_many_is_told_at_once_that_there_is_nothing) {
  const std::string body = R"({"wait":60})";
  const std::string request = "POST /api/v1/queues/q/pop HTTP/1.1\r\n" + world.headers() +
                              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  std::vector<os::Fd> waiting;
  for (std::size_t i = 0; i < kMostQueueWaiters; ++i) {
    waiting.push_back(world.connect());
    HttpWorld::send(waiting.back(), request);
    world.loop->run_once(std::chrono::milliseconds(0));
  }
  while (world.json("GET /api/v1/queues/q")["waiters"] != kMostQueueWaiters) continue;
  EXPECT_EQ(world.json("POST /api/v1/queues/q/pop", {{"wait", 60}})["leases"], json::array());
  waiting.pop_back();
  while (world.json("GET /api/v1/queues/q")["waiters"] != kMostQueueWaiters - 1) continue;
  waiting.push_back(world.connect());
  HttpWorld::send(waiting.back(), request);
  while (world.json("GET /api/v1/queues/q")["waiters"] != kMostQueueWaiters) continue;
}

TEST_F(QueueRoutesTest, what_cannot_be_is_told_in_a_sentence) {
  const json too_many = json::array_t(1001, json("AA=="));
  for (const auto& [path, body, words] : std::initializer_list<std::tuple<const char*, json, const char*>>{
           {"push", json::object(), "1 to 1000 texts in base64, got 0"},
           {"push", {{"items", "AA=="}}, "must be a list of texts"},
           {"push", {{"items", {"AA==", "not base64"}}}, "item 1 of items is no text in base64"},
           {"push", {{"items", too_many}}, "got 1001"},
           {"push",
            {{"items", {"AA=="}}, {"item", 1}},
            "there is no key \\\"item\\\"; the keys are items, client, sequence"},
           {"push", {{"items", {"AA=="}}, {"client", "me"}}, "client and sequence come together"},
           {"push", {{"items", {"AA=="}}, {"sequence", 1}}, "client and sequence come together"},
           {"push", {{"items", {"AA=="}}, {"client", "me"}, {"sequence", 0}}, "from 1 on"},
           {"push", {{"items", {"AA=="}}, {"client", std::string(65, 'x')}, {"sequence", 1}}, "64 bytes at most"},
           {"pop", {{"most", 0}}, "whole number from 1"},
           {"pop", {{"most", 1001}}, "from 1 to 1000"},
           {"pop", {{"wait", 61}}, "from 0 to 60 seconds, got 61"},
           {"pop", {{"wait", -1}}, "from 0 to 60"},
           {"pop", {{"lease_timeout", "1"}}, "must be a number"},
           {"pop", {{"lease_timeout", 1e300}}, "from 0 to 3153600000 seconds"},
           {"done", json::object(), "1 to 1000 lease_ids"},
           {"release", {{"leases", {1}}}, "a text"},
           {"purge", {{"leased", "yes"}}, "true or false"},
           {"purge", json::array(), "JSON object"}}) {
    const std::string answer = world.ask("POST /api/v1/queues/q/" + std::string(path), body);
    EXPECT_EQ(HttpWorld::status_of(answer), 400) << answer;
    EXPECT_THAT(answer, HasSubstr(words));
  }
  for (const char* name : {"a%20b", "-a", "%C3%A4", "a:b"}) {
    EXPECT_THAT(world.ask(std::string("PUT /api/v1/queues/") + name), HasSubstr("letters, digits")) << name;
  }
  EXPECT_THAT(world.ask("POST /api/v1/queues/other/pop", json::object()), HasSubstr("there is no queue other here"));
}

TEST_F(QueueRoutesTest, a_database_that_is_damaged_is_told_and_left_as_it_is) {
  world.node->queues.reset();
  const std::string path = world.folder / "queues" / "queues.db";
  for (const char* rest : {"-wal", "-shm"}) std::filesystem::remove(path + rest);
  std::ofstream(path) << std::string(10'000, 'x');
  world.node->queues = std::make_unique<node::QueueCarrier>(*world.loop, world.folder / "queues", false);
  for (int i = 0; i < 2; ++i) {
    const std::string answer = world.ask("GET /api/v1/queues");
    EXPECT_EQ(HttpWorld::status_of(answer), 500);
    EXPECT_THAT(answer, HasSubstr("queues.db cannot be read"));
    EXPECT_THAT(answer, HasSubstr("move the file aside"));
  }
  EXPECT_EQ(std::filesystem::file_size(path), 10'000u);
}

}  // namespace
}  // namespace fray::http
