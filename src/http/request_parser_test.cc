#include "http/request_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fray::http {
namespace {

using Progress = RequestParser::Progress;

// The last progress and what was left, when the bytes come `step` at a time.
Progress feed(RequestParser& parser, std::string bytes, std::size_t step = 1u << 20) {
  std::string input;
  Progress progress = Progress::kMore;
  while (true) {
    if (progress == Progress::kMore) {
      if (bytes.empty()) return progress;
      input += bytes.substr(0, step);
      bytes.erase(0, step);
    }
    progress = parser.advance(input);
    if (progress == Progress::kWhole || progress == Progress::kBad) return progress;
  }
}

TEST(RequestParserTest, a_request_is_read_however_it_is_cut) {
  const std::string bytes =
      "POST /api/v1/jobs/a%20b?x=1&y=%2F HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nX-A: 1\r\nX-A: 2\r\n\r\nbody";
  for (std::size_t step : {1u, 2u, 7u, 1000u}) {
    RequestParser parser;
    ASSERT_EQ(feed(parser, bytes, step), Progress::kWhole) << step;
    const Request& request = parser.request();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, (std::vector<std::string>{"api", "v1", "jobs", "a b"}));
    EXPECT_EQ(request.query.at("y"), "/");
    EXPECT_EQ(request.header("x-a"), "1, 2");
    EXPECT_EQ(request.body, "body");
    EXPECT_TRUE(parser.keeps_alive());
  }
}

TEST(RequestParserTest, requests_follow_each_other) {
  RequestParser parser;
  std::string input = "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const char* path : {"a", "b"}) {
    EXPECT_EQ(parser.advance(input), Progress::kHead);
    EXPECT_EQ(parser.advance(input), Progress::kWhole);
    EXPECT_EQ(parser.request().path.front(), path);
  }
  EXPECT_EQ(parser.advance(input), Progress::kMore);
}

TEST(RequestParserTest, the_head_is_told_before_any_of_the_body_is_taken) {
  RequestParser parser;
  std::string input = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  EXPECT_EQ(parser.advance(input), Progress::kHead);
  EXPECT_EQ(input, "abc");
}

TEST(RequestParserTest, the_id_of_a_job_may_have_slashes) {
  RequestParser parser;
  ASSERT_EQ(feed(parser, "GET /api/v1/jobs/%2Fuser%2Ftrain/logs HTTP/1.1\r\nHost: a\r\n\r\n"), Progress::kWhole);
  EXPECT_EQ(parser.request().path, (std::vector<std::string>{"api", "v1", "jobs", "/user/train", "logs"}));
}

TEST(RequestParserTest, what_is_wrong_is_answered_by_its_kind) {
  const std::string long_header = "X-Long: " + std::string(20'000, 'x') + "\r\n";
  for (const auto& [bytes, status] : {std::pair<std::string, unsigned>{"hello\r\n\r\n", 400},
                                      {"GET / HTTP/9.9\r\n\r\n", 400},
                                      {"GET / HTTP/1.1\r\n" + long_header + "\r\n", 431},
                                      {"GET / HTTP/1.1\r\n" + std::string(20'000, 'x'), 431},
                                      {"POST / HTTP/1.1\r\nContent-Length: 9000000000\r\n\r\n", 413},
                                      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
                                      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
                                      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
                                      {"GET /%2e%2e/etc HTTP/1.1\r\n\r\n", 400},
                                      {"GET /a/../b HTTP/1.1\r\n\r\n", 400},
                                      {"GET /a%2Fb HTTP/1.1\r\n\r\n", 400},
                                      {"GET /api/packages/gcs/..%2Fa HTTP/1.1\r\n\r\n", 400},
                                      {"GET /api/v1/jobs/a/%2Fb HTTP/1.1\r\n\r\n", 400},
                                      {"GET /a%00 HTTP/1.1\r\n\r\n", 400},
                                      {"GET /a%4 HTTP/1.1\r\n\r\n", 400},
                                      {"GET /?a=1&a=2 HTTP/1.1\r\n\r\n", 400},
                                      {"GET http://evil/ HTTP/1.1\r\n\r\n", 400}}) {
    RequestParser parser;
    EXPECT_EQ(feed(parser, bytes), Progress::kBad) << bytes.substr(0, 60);
    EXPECT_EQ(parser.problem().status, status) << bytes.substr(0, 60);
  }
}

TEST(RequestParserTest, headers_that_may_be_given_once_are_refused_when_given_twice_whatever_they_hold) {
  for (const char* name : {"Host", "hOST", "Origin", "Authorization", "Content-Length", "Transfer-Encoding",
                           "Content-Type", "Expect", "Upgrade", "Sec-WebSocket-Key"}) {
    for (const auto& [first, second] : {std::pair{"", "a"}, {"a", ""}, {"", ""}, {"a", "a"}, {"a", "b"}}) {
      RequestParser parser;
      const std::string twice = fmt::format("{0}: {1}\r\nX-Between: 1\r\n{0}: {2}\r\n", name, first, second);
      EXPECT_EQ(feed(parser, "POST / HTTP/1.1\r\n" + twice + "\r\n"), Progress::kBad) << twice;
      EXPECT_EQ(parser.problem().status, 400u) << twice;
    }
  }
}

TEST(RequestParserTest, a_body_whose_end_is_told_twice_or_in_an_unknown_way_is_refused) {
  for (const char* headers :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 0x5",
        "Content-Length: -1", "Content-Length : 5", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
        "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding:\x0b"
        "chunked"}) {
    RequestParser parser;
    const std::string bytes = std::string("POST / HTTP/1.1\r\nHost: a\r\n") + headers + "\r\n\r\n0\r\n\r\n";
    EXPECT_EQ(feed(parser, bytes), Progress::kBad) << headers;
    EXPECT_TRUE(parser.problem().status == 400 || parser.problem().status == 501) << headers;
  }
}

TEST(RequestParserTest, chunked_bodies_are_put_together_and_limited) {
  RequestParser parser;
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  ASSERT_EQ(feed(parser, head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 5), Progress::kWhole);
  EXPECT_EQ(parser.request().body, "abcde");
  RequestParser other;
  EXPECT_EQ(feed(other, head + "900000\r\n" + std::string(0x900000, 'x') + "\r\n0\r\n\r\n", 100'000), Progress::kBad);
  EXPECT_EQ(other.problem().status, 413u);
}

}  // namespace
}  // namespace fray::http
