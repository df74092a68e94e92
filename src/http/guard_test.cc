#include "http/guard.h"

#include <gtest/gtest.h>

namespace fray::http {
namespace {

unsigned status_for(std::map<std::string, std::string, std::less<>> headers) {
  Request request;
  request.headers = std::move(headers);
  auto refused = Guard("right-token", 4711).refuse(request);
  return refused ? refused->status : 200;
}

TEST(GuardTest, the_own_page_with_the_token_may_ask) {
  for (const char* host : {"127.0.0.1:4711", "localhost:4711", "[::1]:4711"}) {
    EXPECT_EQ(status_for({{"host", host}, {"authorization", "Bearer right-token"}}), 200u) << host;
  }
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"x-ray-authorization", "Bearer right-token"}}), 200u);
  EXPECT_EQ(status_for({{"host", "localhost:4711"},
                        {"origin", "http://localhost:4711"},
                        {"sec-fetch-site", "same-origin"},
                        {"authorization", "Bearer right-token"}}),
            200u);
}

TEST(GuardTest, a_name_that_was_rebound_is_refused_before_anything_else) {
  for (const char* host : {"", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "localhost", "127.0.0.1:4711.evil",
                           "localhost:4711@evil"}) {
    EXPECT_EQ(status_for({{"host", host}, {"authorization", "Bearer right-token"}}), 421u) << host;
  }
}

TEST(GuardTest, pages_of_other_sites_are_refused_whatever_they_know) {
  for (const char* origin : {"http://evil.example", "https://127.0.0.1:4711", "http://127.0.0.1:4712", "null"}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"origin", origin}, {"authorization", "Bearer right-token"}}),
              403u)
        << origin;
  }
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(
        status_for({{"host", "127.0.0.1:4711"}, {"sec-fetch-site", site}, {"authorization", "Bearer right-token"}}),
        403u);
  }
}

TEST(GuardTest, without_the_token_nothing_is_answered) {
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}}), 401u);
  for (const char* given : {"Bearer wrong-token", "Bearer right-toke", "Bearer right-token2", "bearer right-token",
                            "Basic right-token", "Bearer ", "right-token"}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"authorization", given}}), 403u) << given;
  }
}

TEST(GuardTest, bodies_are_json) {
  for (const auto& [type, status] : {std::pair{"application/json", 200u},
                                     {"Application/JSON; charset=utf-8", 200u},
                                     {"text/plain", 415u},
                                     {"application/x-www-form-urlencoded", 415u},
                                     {"", 415u}}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"},
                          {"authorization", "Bearer right-token"},
                          {"content-length", "2"},
                          {"content-type", type}}),
              status)
        << type;
  }
}

}  // namespace
}  // namespace fray::http
